package uitest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fumehood/isolate/walls"
	"fumehood/session"
)

// SampleShape is a deployment shape as a developer's machine has it.
func SampleShape() walls.Shape {
	return walls.Shape{
		Kernel: "6.18.5 #1 SMP", LSM: "lockdown,capability,landlock,yama,apparmor", UID: 1000, Groups: []int{27, 1000},
		Sysctls: map[string]string{"kernel.yama.ptrace_scope": "1", "user.max_user_namespaces": "63489"},
		Cgroup:  "v2 delegated", Build: strings.Repeat("7c", 32), Mounts: []string{"/usr -> /usr"},
	}
}

// SampleRecord is a run of all sixteen as it looks when the walls hold.
func SampleRecord(at time.Time) *walls.Record {
	s := SampleShape()
	r := &walls.Record{
		Version: walls.RecordVersion, Policy: "default", PolicyHash: strings.Repeat("7f3a", 16), Shape: s, ShapeHash: s.Hash(),
		Kernel: s.Kernel, Build: s.Build, Date: at, By: "ada", TookMS: 11_400, Left: []string{},
	}
	for _, t := range walls.Tests() {
		res := walls.Result{Number: t.Number, Name: t.Name, Wall: t.Wall, Verdict: walls.Held, TookMS: 700}
		if why, ok := sampleNA[t.Number]; ok {
			res.Verdict, res.Reason, res.Attempts = walls.NA, why, []walls.Attempt{}
		} else {
			res.Attempts = sampleAttempts(t.Number, at)
		}
		r.Tests = append(r.Tests, res)
	}
	return r
}

var sampleNA = map[int]string{
	5: "the policy allows no destination", 7: "the policy allows no destination", 13: "no destination has a credential",
}

// sampleRows are what each test tries, as "tried | observed | witness | evidence | control".
var sampleRows = map[int][]string{
	1: {
		"open the canary | ENOENT | kernel | openat(AT_FDCWD, \"/home/ada/.fumehood-canary\", O_RDONLY) = -1 ENOENT | open README.md in the workspace: works",
		"open ~/.ssh/id_ed25519 | ENOENT | kernel | openat(AT_FDCWD, \"/home/ada/.ssh/id_ed25519\", O_RDONLY) = -1 ENOENT | open README.md in the workspace: works",
		"open the session's own record | EACCES | kernel | openat(AT_FDCWD, \"/home/ada/.local/state/fumehood\") = -1 EACCES | open README.md in the workspace: works",
		"list the host's /tmp | none of 14 names | filesystem | 14 names on the host, none of them in what was read | ",
	},
	2: {
		"create beside the workspace | ENOENT | filesystem | listing of /home/ada/src: 31 entries before, 31 after | create in the workspace: works",
		"chmod /etc/hosts | EROFS | kernel | fchmodat(AT_FDCWD, \"/etc/hosts\", 0777) = -1 EROFS | chmod in the workspace: works",
		"setxattr on /usr/bin/git | EPERM | kernel | setxattr(\"/usr/bin/git\", \"user.x\") = -1 EPERM | ",
	},
	6: {
		"connect 127.0.0.1:41999 of the host | ECONNREFUSED | listener | listener tcp 127.0.0.1:41999: no connection | connect to a loopback listener inside: works",
		"connect 169.254.169.254:80 | ENETUNREACH | kernel | connect(3, {AF_INET, 169.254.169.254:80}) = -1 ENETUNREACH | connect to a loopback listener inside: works",
		"sendto(MSG_FASTOPEN) 198.51.100.7:443 | EPERM | kernel | sendto(5, \"\", 0, MSG_FASTOPEN, {AF_INET, 198.51.100.7:443}) = -1 EPERM | sendto to loopback inside: works",
		"connect /run/user/1000/bus | ENOENT | listener | listener unix /run/user/1000/bus: no connection | connect to a unix socket inside: works",
		"socket(AF_VSOCK) | EAFNOSUPPORT | kernel | socket(AF_VSOCK, SOCK_STREAM, 0) = -1 EAFNOSUPPORT | socket(AF_INET): works",
	},
}

func sampleAttempts(number int, at time.Time) []walls.Attempt {
	rows := sampleRows[number]
	if rows == nil {
		spec, _ := walls.Find(number)
		for i := range 3 + number%4 {
			rows = append(rows, fmt.Sprintf("%s, way %d | refused | kernel | number %d at %s | the same inside: works", spec.Name, i+1, i+1, at.Format("15:04:05")))
		}
	}
	spec, _ := walls.Find(number)
	var out []walls.Attempt
	for i, row := range rows {
		f := strings.Split(row, " | ")
		out = append(out, walls.Attempt{
			ID: fmt.Sprintf("a%d", i+1), Nonce: fmt.Sprintf("7f3a%012x", number<<8+i), Tried: f[0], Expected: spec.Expected, Observed: f[1],
			Witness: walls.Witness(f[2]), Evidence: f[3], Control: f[4], Verdict: walls.Held, Traced: f[2] == "kernel",
		})
	}
	return out
}

// Fail turns one attempt of a test, and with it the test, into a failure.
func Fail(r *walls.Record, number, attempt int, observed string) {
	for i := range r.Tests {
		t := &r.Tests[i]
		if t.Number != number {
			continue
		}
		a := &t.Attempts[attempt]
		a.Verdict, a.Observed = walls.Failed, observed
		t.Verdict, t.Reason = walls.Judge(t.Attempts)
	}
}

// Told is what a run tells that comes to a record, up to and with the first
// attempts of a test that does not end; 0 is to its end.
func Told(r *walls.Record, until, attempts int) []walls.Event {
	var out []walls.Event
	for i := range r.Tests {
		t := &r.Tests[i]
		out = append(out, walls.Event{Test: t.Number, Begins: true})
		for j := range t.Attempts {
			if t.Number == until && j == attempts {
				return out
			}
			out = append(out, walls.Event{Test: t.Number, Attempt: &t.Attempts[j]})
		}
		if t.Number == until {
			return out
		}
		out = append(out, walls.Event{Test: t.Number, Result: t})
	}
	return out
}

// SampleMatrix has a part that each kind of thing happened to.
func SampleMatrix() *walls.Matrix {
	return &walls.Matrix{Parts: []walls.Part{
		{Layer: "namespaces", Name: "mount", Ran: []int{1, 2, 3, 4, 6, 8, 9, 12, 14}, Red: []int{1, 2, 3, 4, 12}, Attempts: []string{"1.a1", "1.a2", "2.a1", "3.a4", "4.a1", "12.a2"}},
		{Layer: "namespaces", Name: "net", Ran: []int{6, 12}, Red: []int{6}, Attempts: []string{"6.a1", "6.a2", "6.a4"}},
		{Layer: "landlock", Name: "files", Ran: []int{1, 2, 3}, Red: []int{2, 3}, Attempts: []string{"2.a1", "3.a2"}},
		{Layer: "landlock", Name: "signals", Cannot: "this kernel's Landlock has ABI 5, and signals come with 6"},
		{Layer: "seccomp", Name: "io_uring", Ran: []int{3, 6, 12, 14}, Red: []int{3, 6, 14}, Attempts: []string{"3.a6", "6.a5", "14.a3"}},
		{Layer: "identity", Name: "no_new_privs", Ran: []int{14}},
	}}
}

// Walls gives what was set for a session, or for the policy that is named.
func (b *Backend) Walls(ctx context.Context, id, policy string) (session.Walls, error) {
	err := b.enter(ctx, "Walls", id+policy, false)
	defer b.mu.Unlock()
	if w, ok := b.About[id]; ok && id != "" {
		return w, err
	}
	if w, ok := b.About["policy "+policy]; ok && id == "" {
		return w, err
	}
	return b.About[""], err
}

// Prove tells what was set, and once it is let go gives the record.
func (b *Backend) Prove(ctx context.Context, run walls.Run, tell func(walls.Event)) (*walls.Record, error) {
	b.mu.Lock()
	told := append([]walls.Event{}, b.Told...)
	b.mu.Unlock()
	for _, e := range told {
		tell(e)
	}
	err := b.enter(ctx, "Prove", fmt.Sprintf("%q %v", run.Policy, run.Only), true)
	defer b.mu.Unlock()
	return b.Outcome, err
}

// Mutate tells what was set, and once it is let go gives the matrix.
func (b *Backend) Mutate(ctx context.Context, policy string, tell func(walls.Event)) (*walls.Matrix, error) {
	tell(walls.Event{Note: "without landlock files"})
	err := b.enter(ctx, "Mutate", fmt.Sprintf("%q", policy), true)
	defer b.mu.Unlock()
	return b.Matrix, err
}

// SaveRecord records the call.
func (b *Backend) SaveRecord(ctx context.Context, rec *walls.Record, path string) (string, error) {
	err := b.simple(ctx, "SaveRecord", fmt.Sprintf("%s %d tests", path, len(rec.Tests)))
	return "/home/ada/src/api-server/" + path, err
}
