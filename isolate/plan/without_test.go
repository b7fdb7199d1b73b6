package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func limited() Input {
	in := input()
	in.Limits = Limits{Processes: 1, Data: 1, OpenFiles: 1, FileSize: 1}
	in.TmpBytes = 1 << 20
	in.Workspace.Inside = "/var/tmp/a/b/project"
	return in
}

// What a session runs behind is whole, whatever it is made from.
func TestACompiledPlanLeavesNothingOut(t *testing.T) {
	for _, in := range []Input{input(), limited()} {
		p := compile(t, in)
		if p.Omit != Nothing || p.Group != "" {
			t.Errorf("got %q %q left out, want nothing", p.Omit, p.Group)
		}
		for _, s := range p.Steps {
			if s.Host || s.Do == HostTree {
				t.Errorf("got the host's own at %q, want none", s.Target)
			}
		}
	}
}

// Each part differs from the whole in itself alone, and the whole stays.
func TestWithoutChangesOnePart(t *testing.T) {
	host := []Step{{Do: HostTree, Target: "srv", Source: "/srv"}}
	for _, part := range Parts() {
		t.Run(part.Name, func(t *testing.T) {
			in := limited()
			if part.Omit == OwnTmp {
				in = input()
			}
			whole, same := compile(t, in), compile(t, in)
			less, err := whole.Without(part, host)
			if d := cmp.Diff(same, whole); d != "" {
				t.Errorf("the whole was changed: %s", d)
			}
			if part.Never != "" {
				if err == nil {
					t.Error("it was left out, want it never to be")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if less.Omit != part.Omit || less.Group != string(part.Group) {
				t.Errorf("got %q %q left out, want %q %q", less.Omit, less.Group, part.Omit, part.Group)
			}
			back, err := Decode(less.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(less, back); d != "" {
				t.Error(d)
			}
			less.Omit, less.Group = Nothing, ""
			parts := 0
			for _, same := range []bool{cmp.Equal(less.Steps, whole.Steps), cmp.Equal(less.Limits, whole.Limits), cmp.Equal(less.Landlock, whole.Landlock)} {
				if !same {
					parts++
				}
			}
			if parts > 1 {
				t.Errorf("%d parts of the plan differ, want one at most", parts)
			}
		})
	}
}

func TestWithoutRefusesWhatThePlanDoesNotHave(t *testing.T) {
	bare := compile(t, input())
	for _, part := range Parts() {
		switch o := part.Omit; {
		case o == SealedFolders, o == LimitProcesses, o == LimitData, o == LimitOpenFiles, o == LimitFileSize, o == LimitTmp, o == MinimalRoot:
			if _, err := bare.Without(part, nil); !errors.Is(err, ErrUnfit) {
				t.Errorf("%q: got %v, want that it is not there", part.Name, err)
			}
		case o == OwnTmp:
			if _, err := compile(t, limited()).Without(part, nil); !errors.Is(err, ErrUnfit) {
				t.Errorf("%q: got %v for a workspace below one, want it refused", part.Name, err)
			}
		}
	}
}

func TestNamesOfPartsAreTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, part := range Parts() {
		if seen[part.Name] || part.Name == "" || part.Why == "" {
			t.Errorf("got the name %q, the reason %q; want one name each, and a reason", part.Name, part.Why)
		}
		if (part.Only == "") == (part.Never == "") {
			t.Errorf("%q: got the action %q and %q, want one of them", part.Name, part.Only, part.Never)
		}
		seen[part.Name] = true
	}
}
