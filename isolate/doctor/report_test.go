package doctor

import (
	"encoding/json"
	"strings"
	"testing"
)

// good is a machine and an account with everything.
func good() Facts {
	done := Step{Done: true}
	return Facts{
		Kernel: "6.18.1-generic", Arch: "amd64", Exe: "/usr/local/bin/fumehood",
		Namespaces: done, Users: done, Tmpfs: done, Overlay: done, Proc: done, Devpts: done, ReadOnly: done,
		MaxUserNS: 100, LandlockABI: 9, Seccomp: done,
		CgroupV2: true, CgroupPath: "/user", Controllers: []string{"memory", "pids"}, Delegated: true,
		Git: "/usr/bin/git", GitVersion: "2.39.5", Ptmx: done,
		State: "/home/u/.local/state/fumehood", StateOK: done, StateFS: "xfs", Reflink: done,
		Yama: 1,
	}
}

func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, checks)
	return Check{}
}

// appArmor is Ubuntu from 23.10 on: the clone works, and what it is for is refused.
func appArmor(f *Facts) {
	f.AppArmor = "1"
	f.Tmpfs = Step{Err: "EACCES"}
	f.Overlay, f.Proc, f.Devpts, f.ReadOnly = Step{}, Step{}, Step{}, Step{}
}

func noNamespaces(errno string) func(*Facts) {
	return func(f *Facts) {
		f.Namespaces, f.Users = Step{Err: errno}, Step{Err: errno}
		f.Tmpfs, f.Overlay, f.Proc, f.Devpts, f.ReadOnly = Step{}, Step{}, Step{}, Step{}, Step{}
	}
}

func both(all ...func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		for _, one := range all {
			one(f)
		}
	}
}

func TestReport(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Facts)
		check  string
		ok     bool
		bad    bool
		// parts
		detail, costs, remedy string
	}{
		{"everything", func(*Facts) {}, "user namespaces", true, false, "mounted a tmpfs", "", ""},
		{"old kernel", func(f *Facts) { f.Kernel = "5.4.0-150-generic" }, "kernel", false, true, "5.4.0", "no session starts", "5.12"},
		{"kernel of the floor", func(f *Facts) { f.Kernel = "5.12" }, "kernel", true, false, "", "", ""},
		{"kernel without a number", func(f *Facts) { f.Kernel = "" }, "kernel", false, true, "unknown", "", ""},
		{"other processor", func(f *Facts) { f.Arch = "386" }, "kernel", false, true, "386", "amd64 and arm64", ""},

		{
			"AppArmor", appArmor, "user namespaces", false, true, "may not mount there: EACCES", "no session starts",
			"profile fumehood /usr/local/bin/fumehood flags=(unconfined)",
		},
		{"AppArmor, odd path", both(appArmor, func(f *Facts) { f.Exe = "/x/$(id)/fumehood" }), "user namespaces", false, true, "", "", "install fumehood at a path"},
		{"AppArmor, what was not tried says so", appArmor, "new /proc", false, true, "not tried", "no session starts", ""},
		{"AppArmor there but not in the way", func(f *Facts) { f.AppArmor = "1" }, "user namespaces", true, false, "", "", ""},
		{"Debian's setting", both(noNamespaces("EPERM"), func(f *Facts) { f.CloneSysc = "0" }), "user namespaces", false, true, "EPERM", "", "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"none allowed", both(noNamespaces("ENOSPC"), func(f *Facts) { f.MaxUserNS = 0 }), "user namespaces", false, true, "ENOSPC", "", "sysctl -w user.max_user_namespaces="},
		{"all used up", noNamespaces("ENOSPC"), "user namespaces", false, true, "ENOSPC", "", "sysctl -w user.max_user_namespaces="},
		{"not built in", noNamespaces("EINVAL"), "user namespaces", false, true, "EINVAL", "", "built in"},
		{"refused for no known reason", noNamespaces("EPERM"), "user namespaces", false, true, "EPERM", "", "dmesg"},
		{"only some", func(f *Facts) { f.Namespaces, f.Proc = Step{Err: "EINVAL"}, Step{} }, "user namespaces", false, true, "not with all the others: EINVAL", "", ""},
		{"container", both(noNamespaces("EPERM"), func(f *Facts) { f.Container = "/.dockerenv" }), "user namespaces", false, true, "EPERM", "", "--security-opt seccomp=unconfined"},
		{"container is named", both(noNamespaces("EPERM"), func(f *Facts) { f.Container = "/.dockerenv" }), "container", false, true, "/.dockerenv", "its engine", "--security-opt"},
		{"container that is in nobody's way", func(f *Facts) { f.Container = "/.dockerenv" }, "container", true, false, "/.dockerenv", "", ""},
		{"container with a covered /proc", func(f *Facts) { f.Container, f.Proc = "/.dockerenv", Step{Err: "EPERM"} }, "new /proc", false, true, "are covered", "processes would be in sight", "systempaths=unconfined"},

		{"no overlay", func(f *Facts) { f.Overlay = Step{Err: "ENODEV"} }, "overlay", false, true, "ENODEV", "binds", "modprobe overlay"},
		{"overlay on an old kernel", func(f *Facts) { f.Kernel, f.Overlay = "5.10.0", Step{Err: "EPERM"} }, "overlay", false, true, "EPERM", "", "5.11"},
		{"no read-only mounts", func(f *Facts) { f.ReadOnly = Step{Err: "ENOSYS"} }, "read-only mounts", false, true, "ENOSYS", "could be written", ""},
		{"no devpts", func(f *Facts) { f.Devpts = Step{Err: "ENODEV"} }, "terminals", false, true, "ENODEV", "attached", ""},
		{"no ptmx", func(f *Facts) { f.Ptmx = Step{Err: "ENOENT"} }, "terminals", false, true, "/dev/ptmx", "attached", "devpts"},

		{"Landlock not built", func(f *Facts) { f.LandlockABI, f.LandlockErr = 0, "ENOSYS" }, "landlock", false, true, "not in this kernel", "second time", "5.19"},
		{"Landlock off", func(f *Facts) { f.LandlockABI, f.LandlockErr = 0, "EOPNOTSUPP" }, "landlock", false, true, "switched off", "second time", "lsm="},
		{"Landlock refused", func(f *Facts) { f.LandlockABI, f.LandlockErr, f.Container = 0, "EPERM", "x" }, "landlock", false, true, "EPERM", "", "seccomp=unconfined"},
		{"ABI 1", func(f *Facts) { f.LandlockABI = 1 }, "landlock", false, true, "ABI 1, which forbids", "no session starts", "5.19"},
		{"ABI 2", func(f *Facts) { f.LandlockABI = 2 }, "landlock", true, false, "ABI 2", "truncating files (what", ""},
		{"ABI 7", func(f *Facts) { f.LandlockABI = 7 }, "landlock", true, false, "ABI 7", "Landlock: pathname sockets (those of the host are absent", ""},
		{"ABI 9", func(f *Facts) { f.LandlockABI = 9 }, "landlock", true, false, "ABI 9", "", ""},

		{"no filter", func(f *Facts) { f.Seccomp = Step{Err: "EINVAL"} }, "seccomp", false, true, "EINVAL", "whole kernel", "CONFIG_SECCOMP_FILTER"},
		{"cgroups delegated", func(*Facts) {}, "cgroups", true, false, "limits on memory, pids, in groups of its own below /user", "", ""},
		{"cgroups by the service manager", func(f *Facts) { f.ByBus = true }, "cgroups", true, false, "service manager moves it into a scope of its own below /user", "", ""},
		{"cgroups not by the service manager", func(f *Facts) { f.Delegated, f.NoBus, f.BusHint = false, "it is \x1b away", "do this" }, "cgroups", false, false, `moves a session into one: it is \x1b away`, "sampled", "do this"},
		{"cgroups not delegated", func(f *Facts) { f.Delegated = false }, "cgroups", false, false, "no part of it", "sampled every 250 ms", ""},
		{"cgroups of old", func(f *Facts) { f.CgroupV2 = false }, "cgroups", false, false, "no cgroup v2", "sampled every 250 ms", ""},

		{"no git", func(f *Facts) { f.Git, f.GitVersion = "", "" }, "git", false, true, "not on PATH", "can't be read", "install git 2.25"},
		{"git 2.20", func(f *Facts) { f.GitVersion = "2.20.1" }, "git", false, true, "version 2.20.1", "can't be read", "2.25"},
		{"git 2.25", func(f *Facts) { f.GitVersion = "2.25.0" }, "git", true, false, "2.25.0", "", ""},
		{"git 2.9", func(f *Facts) { f.GitVersion = "2.9.5" }, "git", false, true, "2.9.5", "", "2.25"},
		{"git 3", func(f *Facts) { f.GitVersion = "3.0.windows.1" }, "git", true, false, "3.0", "", ""},
		{"git that is none", func(f *Facts) { f.GitVersion, f.GitErr = "", "\"git version\" answered \x1b[2J" }, "git", false, true, `answered \x1b[2J`, "", "2.25"},

		{"state folder", func(f *Facts) { f.StateOK = Step{Err: "/home/u: EROFS"} }, "state folder", false, true, "/home/u: EROFS", "no session starts", "XDG_STATE_HOME"},
		{"state on tmpfs", func(f *Facts) { f.StateFS = "tmpfs" }, "state filesystem", false, false, "tmpfs", "read again for each diff", "ext4, xfs or btrfs"},
		{"no reflinks", func(f *Facts) { f.Reflink, f.StateFS = Step{Err: "ENOTSUP"}, "ext4" }, "state filesystem", true, false, "ext4", "full size", ""},
		{"groups", func(f *Facts) { f.Groups = []string{"adm", "docker"} }, "groups", false, false, "can't drop: adm, docker", "no wall depends", ""},
		{"groups of root", func(f *Facts) { f.Groups, f.Root = []string{"adm"}, true }, "groups", true, false, "dropped", "", ""},
		{"no Yama", func(f *Facts) { f.Yama = -1 }, "yama", true, false, "not in this kernel", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := good()
			tt.change(&f)
			checks := Report(f)
			c := find(t, checks, tt.check)
			if c.OK != tt.ok {
				t.Errorf("got ok %t, want %t: %+v", c.OK, tt.ok, c)
			}
			if got := Bad(checks); got != tt.bad {
				t.Errorf("got bad %t, want %t: %+v", got, tt.bad, checks)
			}
			for _, part := range []struct{ what, got, want string }{
				{"detail", c.Detail, tt.detail}, {"costs", c.Costs, tt.costs}, {"remedy", c.Remedy, tt.remedy},
			} {
				if !strings.Contains(part.got, part.want) {
					t.Errorf("got %s %q, want %q in it", part.what, part.got, part.want)
				}
			}
			soundCheck(t, checks)
		})
	}
}

// soundCheck holds for every report.
func soundCheck(t *testing.T, checks []Check) {
	t.Helper()
	for _, c := range checks {
		if c.Detail == "" || !c.OK && c.Costs == "" {
			t.Errorf("%s: got no detail or no costs: %+v", c.Name, c)
		}
		if c.Required && c.OK && strings.Contains(c.Costs, noStart) {
			t.Errorf("%s: said to be there and to stop the start: %+v", c.Name, c)
		}
		for _, r := range c.Detail + c.Costs + c.Remedy {
			if r < ' ' || r == 0x7f {
				t.Errorf("%s: holds the control character %q: %+v", c.Name, r, c)
			}
		}
	}
}

func TestNothingFoundIsNotTakenForGood(t *testing.T) {
	checks := Report(Facts{})
	for _, c := range checks {
		if c.Required && c.OK {
			t.Errorf("%s: got ok from no facts: %+v", c.Name, c)
		}
	}
	if !Bad(checks) {
		t.Error("got a good report from no facts")
	}
	soundCheck(t, checks)
}

func TestEverythingCostsNothing(t *testing.T) {
	for _, c := range Report(good()) {
		if !c.OK || c.Costs != "" || c.Remedy != "" {
			t.Errorf("got %+v, want all there and nothing to do", c)
		}
	}
}

func TestJSONNames(t *testing.T) {
	b, err := json.Marshal(Check{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(b), `{"name":"","ok":false,"detail":"","costs":"","remedy":"","required":false}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
