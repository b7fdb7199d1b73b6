package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fumehood/isolate/layer"
)

func input() Input {
	return Input{
		UID: 1000, GID: 1000, User: "someone", Shell: "/bin/bash", HostHome: "/home/someone",
		Workspace: Place{Host: "/var/state/w", Inside: "/home/someone/project", Dev: 1, Ino: 2},
		Home:      Place{Host: "/var/state/h", Inside: Home}, Canary: Place{Host: "/var/state/c", Inside: Canary},
		ReadOnly: []Place{
			{Host: "/home/someone/go/pkg/mod", Inside: "/home/someone/go/pkg/mod"},
			{Host: "/data/file", Inside: "/data/file", File: true},
		},
		Nonce: "0123456789abcdef", MachineID: strings.Repeat("ab", 16),
		Host: Host{
			LandlockABI: 7,
			Top:         []Entry{{Name: "usr"}, {Name: "bin", Link: "usr/bin"}},
			EtcFiles:    []Entry{{Name: "services"}, {Name: "localtime", Link: "/usr/share/zoneinfo/UTC"}},
			EtcFolders:  []Entry{{Name: "alternatives"}},
			ProcFiles:   []string{"kcore"},
		},
	}
}

func compile(t *testing.T, in Input) *Plan {
	t.Helper()
	p, err := Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStepsInOrder(t *testing.T) {
	var got []string
	for _, s := range compile(t, input()).Steps {
		got = append(got, fmt.Sprintf("%s %s", s.Do, s.Target))
	}
	want := []string{
		"dir fumehood/empty", "overlay usr", "symlink bin", "dir etc", "overlay etc/alternatives", "copy etc/services", "symlink etc/localtime",
		"file etc/passwd", "file etc/group", "file etc/hostname", "file etc/hosts", "file etc/nsswitch.conf", "file etc/resolv.conf",
		"file etc/machine-id", "file etc/subuid", "file etc/subgid", "symlink etc/mtab",
		"proc proc", "read-only proc/sys", "tmpfs tmp", "tmpfs var/tmp", "tmpfs run", "symlink var/run", "dir dev",
		"device dev/null", "device dev/zero", "device dev/full", "device dev/random", "device dev/urandom", "device dev/tty",
		"mask proc/kcore", "devpts dev/pts", "tmpfs dev/shm", "symlink dev/ptmx", "symlink dev/fd", "symlink dev/stdin", "symlink dev/stdout", "symlink dev/stderr",
		"copy data/file", "overlay home/someone/go/pkg/mod",
		"bind home/someone/project", "bind fumehood/home", "bind fumehood/canary", "program fumehood/spawner", "home view go/pkg/mod",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A plain bind of a host folder would let locks and times through.
func TestOnlyTheSessionsOwnFoldersAreBound(t *testing.T) {
	for _, s := range compile(t, input()).Steps {
		if s.Do == Bind && !slices.Contains([]string{"home/someone/project", "fumehood/home", "fumehood/canary"}, s.Target) {
			t.Errorf("%q is bound", s.Target)
		}
	}
}

func TestWritableRightsAreOnlyWhereTheyShouldBe(t *testing.T) {
	want := []string{"/tmp", "/var/tmp", "/dev/shm", "/run", Home, "/home/someone/project", CanaryAllowed}
	var got []string
	for _, r := range compile(t, input()).Landlock.Rules {
		if r.Access&(fsMakeChar|fsMakeBlock) != 0 {
			t.Errorf("%q may make device nodes", r.Path)
		}
		if r.Access&fsMakeReg != 0 {
			got = append(got, r.Path)
		}
		if r.Path == "/" && r.Access != fsReadDir {
			t.Errorf("/ grants %#x, want listing alone", r.Access)
		}
		if strings.HasPrefix(r.Path, CanaryDenied) || r.Path == Canary {
			t.Errorf("%q is granted: the canary would prove nothing", r.Path)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRightsByABI(t *testing.T) {
	tests := []struct {
		abi    int
		fs     uint64
		scoped uint64
		log    bool
		level  int
	}{
		{abi: 2, fs: 1<<14 - 1, level: 2},
		{abi: 3, fs: 1<<15 - 1, level: 3},
		{abi: 4, fs: 1<<15 - 1, level: 4},
		{abi: 5, fs: 1<<16 - 1, level: 5},
		{abi: 6, fs: 1<<16 - 1, scoped: 3, level: 6},
		{abi: 7, fs: 1<<16 - 1, scoped: 3, log: true, level: 7},
		{abi: 9, fs: 1<<17 - 1, scoped: 3, log: true, level: 9},
		{abi: 99, fs: 1<<17 - 1, scoped: 3, log: true, level: MaxABI},
	}
	for _, tt := range tests {
		in := input()
		in.Host.LandlockABI = tt.abi
		l := compile(t, in).Landlock
		if l.FS != tt.fs || l.Scoped != tt.scoped || l.Log != tt.log || l.ABI != tt.level {
			t.Errorf("ABI %d: got %#x, %#x, %v, level %d; want %#x, %#x, %v, %d", tt.abi, l.FS, l.Scoped, l.Log, l.ABI, tt.fs, tt.scoped, tt.log, tt.level)
		}
		for _, r := range l.Rules {
			if r.Access&^l.FS != 0 {
				t.Errorf("ABI %d: the rule of %q has rights that the kernel lacks: %#x", tt.abi, r.Path, r.Access&^l.FS)
			}
			if r.Access == 0 {
				t.Errorf("ABI %d: the rule of %q grants nothing", tt.abi, r.Path)
			}
		}
	}
	if got := len(Missing(2)); got != 4 {
		t.Errorf("got %d rights missing at ABI 2, want 4", got)
	}
	if got := Missing(MaxABI); len(got) != 0 {
		t.Errorf("got %q missing at the highest, want none", got)
	}
}

func TestOldKernelIsRefused(t *testing.T) {
	for _, abi := range []int{0, 1} {
		in := input()
		in.Host.LandlockABI = abi
		_, err := Compile(in)
		var le *layer.Error
		if !errors.As(err, &le) || le.Layer != layer.Landlock || le.Hint == "" {
			t.Errorf("ABI %d: got %v, want Landlock's error with a hint", abi, err)
		}
	}
}

func TestRequire(t *testing.T) {
	for _, tt := range []struct {
		want []string
		ok   bool
	}{
		{want: nil, ok: true},
		{want: []string{"landlock", "seccomp", "namespaces", "limits", "identity"}, ok: true},
		{want: []string{"landlock>=7"}, ok: true},
		{want: []string{"landlock>=8"}},
		{want: []string{"landlock>=07"}},
		{want: []string{"landlock>="}},
		{want: []string{"landlock>=7x"}},
		{want: []string{"seccomp>=1"}},
		{want: []string{"Landlock"}},
		{want: []string{""}},
	} {
		in := input()
		in.Require = tt.want
		if _, err := Compile(in); (err == nil) != tt.ok {
			t.Errorf("%q: got %v, want ok %v", tt.want, err, tt.ok)
		}
	}
}

func TestPlanSurvivesItsCodec(t *testing.T) {
	p := compile(t, input())
	fill(reflect.ValueOf(p).Elem(), new(int))
	p.Version = Version
	b := p.Encode()
	back, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, back); d != "" {
		t.Error(d)
	}
	if len(b) > MaxToStage/4 {
		t.Errorf("an ordinary plan takes %d bytes of %d", len(b), MaxToStage)
	}
	for i := range b {
		if _, err := Decode(b[:i]); err == nil {
			t.Fatalf("a plan cut after %d of %d bytes was taken", i, len(b))
		}
	}
	if _, err := Decode(append(b, 0)); err == nil {
		t.Error("a plan with a byte too many was taken")
	}
	p.Version++
	if _, err := Decode(p.Encode()); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("got %v for another version", err)
	}
}

// fill gives every field a value of its own, so that a field that the codec
// forgets shows.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Int:
		v.SetInt(int64(*n))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(v.Kind())
	}
}

func FuzzDecode(f *testing.F) {
	p, err := Compile(input())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		back, err := Decode(p.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, back); d != "" {
			t.Error(d)
		}
	})
}

func TestPasswdNamesTheSessionOnce(t *testing.T) {
	in := input()
	in.UID, in.GID = 65534, 65534
	for _, uid := range []int{1000, 61999, 65534} {
		in.UID, in.GID = uid, uid
		want := fmt.Sprintf("someone:x:%d:%d:fumehood session:/fumehood/home:/bin/bash\n", uid, uid)
		if got := passwd(in); strings.Count(got, fmt.Sprintf(":x:%d:", uid)) != 1 || !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want one line of %d", got, uid)
		}
		if got := group(in); strings.Count(got, fmt.Sprintf(":x:%d:", uid)) != 1 {
			t.Errorf("got %q, want one line of %d", got, uid)
		}
	}
}

const table = `30 1 0:31 / / ro,nosuid,nodev,relatime - tmpfs tmpfs rw,size=65536k
31 30 0:32 / /usr ro,nosuid,nodev,relatime - overlay overlay ro,lowerdir=/usr:srv
32 30 254:0 /w /home/some\040one/p rw,nosuid,nodev,relatime master:1 - ext4 /dev/vda rw
`

const hostTable = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
`

func TestCompareMounts(t *testing.T) {
	want := []Mount{
		{Point: "/", Type: "tmpfs", RO: true, NoDev: true, NoSUID: true, Own: true, Size: 65536 << 10},
		{Point: "/usr", Type: "overlay", RO: true, NoDev: true, NoSUID: true, Own: true},
		{Point: "/home/some one/p", NoDev: true, NoSUID: true},
	}
	tests := []struct {
		name string
		old  string
		new  string
		diff string
	}{
		{name: "as planned"},
		{name: "one missing", old: "31 30 0:32 / /usr ro,nosuid,nodev,relatime - overlay overlay ro,lowerdir=/usr:srv\n", diff: `"/usr" is not mounted`},
		{name: "one more", old: "32 30", new: "33 30 0:9 / /x ro,nosuid,nodev - tmpfs tmpfs rw\n32 30", diff: `"/x" is mounted, and not of the plan`},
		{name: "twice", old: "32 30", new: "33 30 0:9 / /usr ro,nosuid,nodev - tmpfs tmpfs rw\n32 30", diff: `"/usr" is mounted, and not of the plan`},
		{name: "writable", old: "/usr ro", new: "/usr rw", diff: `"/usr" can be written`},
		{name: "set-user-id", old: "rw,nosuid", new: "rw", diff: `"/home/some one/p" allows set-user-id`},
		{name: "devices", old: "nosuid,nodev,relatime master", new: "nosuid,relatime master", diff: `"/home/some one/p" allows devices`},
		{name: "a bind", old: "overlay overlay", new: "ext4 overlay", diff: `"/usr" is of type "ext4", want "overlay"`},
		{name: "the host's", old: "0:31", new: "0:21", diff: `"/" is the host's`},
		{name: "larger", old: "size=65536k", new: "size=655360k", diff: `"/" holds 671088640 bytes`},
		{name: "not bounded", old: ",size=65536k", diff: `"/" holds 0 bytes`},
		{name: "garbage", old: " - tmpfs", new: "", diff: "is not understood"},
		{name: "empty", old: table, new: "", diff: `"/" is not mounted`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := table
			if tt.old != "" {
				text = strings.Replace(table, tt.old, tt.new, 1)
			}
			got := strings.Join(Compare(want, text, hostTable), "; ")
			if tt.diff == "" && got != "" || !strings.Contains(got, tt.diff) {
				t.Errorf("got %q, want %q", got, tt.diff)
			}
		})
	}
}

func FuzzCompare(f *testing.F) {
	f.Add(table)
	f.Add("- - - - - - - - -")
	f.Fuzz(func(t *testing.T, text string) {
		if diffs := Compare([]Mount{{Point: "/absent/for sure"}}, text, ""); len(diffs) == 0 && !strings.Contains(text, "/absent") {
			t.Error("a missing mount was not noticed")
		}
	})
}

func TestExpectedCoversEveryAction(t *testing.T) {
	mounts := []Action{Tmpfs, Overlay, HomeView, Cache, CacheView, Bind, Device, Devpts, Proc, ReadOnly, Mask, HostTree}
	for _, a := range mounts {
		if got := Expected([]Step{{Do: a, Target: "x"}}); len(got) != 2 || !got[1].NoSUID {
			t.Errorf("%s: got %+v, want one mount more, without set-user-id", a, got)
		}
	}
	for _, a := range []Action{Dir, File, Copy, Symlink, Program} {
		if got := Expected([]Step{{Do: a, Target: "x"}}); len(got) != 1 {
			t.Errorf("%s: got %+v, want no mount", a, got)
		}
	}
	if got := Expected([]Step{{Do: Bind, Target: "fumehood/canary"}}); len(got) != 1 {
		t.Errorf("the canary is expected to stay mounted: %+v", got)
	}
}

func TestFailureKeepsLayerErrnoAndHint(t *testing.T) {
	in := &layer.Error{Layer: layer.Landlock, Op: "restrict_self", Err: fmt.Errorf("deep: %w", syscall.EPERM), Hint: "do this"}
	b, err := json.Marshal(Fail(fmt.Errorf("wrapped: %w", in)))
	if err != nil {
		t.Fatal(err)
	}
	var f Failure
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	got := f.Err()
	if got.Layer != in.Layer || got.Op != in.Op || got.Hint != in.Hint || got.Error() != in.Error() || !errors.Is(got, syscall.EPERM) {
		t.Errorf("got %+v, want %+v", got, in)
	}
	if got := Fail(errors.New("odd")).Err(); got.Layer == "" || errors.Is(got, syscall.EPERM) {
		t.Errorf("got %+v", got)
	}
}
