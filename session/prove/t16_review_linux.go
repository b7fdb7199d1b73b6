package prove

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/internal/atomicfile"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// shown is where in a change set a trap has to appear.
type shown string

const (
	asRisk    shown = "shown, with a finding that no bulk approval passes"
	asChange  shown = "shown"
	asLeftOut shown = "named as left out"
	asNever   shown = "absent: nothing of a workspace's .git comes back"
)

// trapRow is one trap by its path.
type trapRow struct {
	path string
	want shown
}

var trapRows = []trapRow{
	{".git/hooks/pre-commit", asNever},
	{".git/config", asNever},
	{".gitattributes", asRisk},
	{".vscode/tasks.json", asRisk},
	{".claude/settings.json", asRisk},
	{".envrc", asRisk},
	{"bare/config", asRisk},
	{"esc\x1b[2J\x1b]0;title\x07name", asRisk},
	{"hidden.sh", asRisk},
	{"src/main.txt", asChange},
	{"suid", asChange},
	{"out", asRisk},
	{"pipe", asLeftOut},
}

// reviewedDiff lets a probe leave traps in a session's workspace, and looks at
// the host, the change set and what an apply does.
func reviewedDiff(ctx context.Context, e *env) ([]walls.Attempt, error) {
	if e.target.kind() == foreign {
		return e.unreviewed(ctx)
	}
	rm, err := e.openRoom(ctx, e.lasting())
	if err != nil {
		return nil, err
	}
	box, ok := rm.(*sess)
	if !ok {
		return nil, errors.New("it needs a session of fumehood's")
	}
	v := &reviewing{e: e, box: box, marker: filepath.Join(e.dir, "trap-sprung"), outside: filepath.Join(e.dir, "outside")}
	if err := atomicfile.Write(v.outside, []byte(e.token+"\n"), 0o644); err != nil {
		return nil, err
	}
	if v.before, err = listing(e.repo); err != nil {
		return nil, err
	}
	// The probe stays, so that the swap goes on while the change set is made.
	quit := make(chan struct{})
	planted := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := box.stay(ctx, probe.Job{Actions: []probe.Action{{Do: "traps", Args: map[string]string{"marker": v.marker, "outside": v.outside}}}}, planted, quit)
		select {
		case planted <- err:
		default:
		}
	}()
	if err := <-planted; err != nil {
		close(quit)
		<-done
		return nil, fmt.Errorf("plant the traps: %w", err)
	}
	v.review(ctx)
	close(quit)
	<-done
	v.apply(ctx)
	return v.out, nil
}

// reviewing is one review of a workspace full of traps.
type reviewing struct {
	e               *env
	box             *sess
	marker, outside string
	before          map[string]string
	out             []walls.Attempt
}

func (v *reviewing) add(id, tried, want string, o outcome) {
	_, text := nonce()
	a := walls.Attempt{
		ID: id, Nonce: text, Tried: tried, Expected: want, Observed: o.observed, Witness: o.witness, Evidence: clean(o.evidence), Verdict: o.verdict,
	}
	v.out = append(v.out, a)
	v.e.tell(walls.Event{Test: v.e.test, Attempt: &a})
}

func (v *reviewing) review(ctx context.Context) {
	// The change set has to be made in spite of a lease, a fifo and a swap.
	r, err := v.e.host.Review(ctx, v.box.dir, true)
	if err != nil {
		v.add("change set", "make the change set while the traps are sprung", "made", failed(err.Error(), walls.Supervisor, err.Error()))
		return
	}
	v.add("change set", "make the change set with a lease held, a fifo and a name that flips", "made", held("made", walls.Supervisor, fmt.Sprintf("%d files, %d left out", len(r.Set.Files), len(r.Set.LeftOut))))
	for _, t := range trapRows {
		v.add("trap "+strings.Map(printable, t.path), "leave "+clean(t.path), string(t.want), judgeTrap(r.Set, t))
	}
	v.add("flip", "swap a file for a link outside, over and over, while it is read", "shown as one or the other, and nothing of the outside in the store", v.judgeFlip(r))
	v.unchanged("host", "the host's repository after the review", v.before)
	v.unsprung("markers of a review", "see whether anything planted ran during the review")
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}

// judgeTrap looks for one trap in a change set.
func judgeTrap(set *diffreview.ChangeSet, t trapRow) outcome {
	var file *diffreview.File
	for i := range set.Files {
		if set.Files[i].Path == t.path {
			file = &set.Files[i]
		}
	}
	named := ""
	for _, l := range set.LeftOut {
		if l.Path == t.path {
			named = l.Reason
		}
	}
	switch {
	case t.want == asNever && file == nil:
		return held("it is not in the change set", walls.Supervisor, fmt.Sprintf("%d files, none of them %q", len(set.Files), t.path))
	case t.want == asNever:
		return failed("it is in the change set", walls.Supervisor, fmt.Sprintf("%q: %s", t.path, file.Status))
	case t.want == asLeftOut && named != "":
		return held("named as left out: "+named, walls.Supervisor, fmt.Sprintf("left out %q: %s", t.path, named))
	case file == nil:
		return failed("the change set does not show it", walls.Supervisor, fmt.Sprintf("%d files, none of them %q", len(set.Files), t.path))
	case t.want == asChange:
		return held("shown as "+string(file.Status), walls.Supervisor, fmt.Sprintf("%q: %s, mode %s, +%d -%d", t.path, file.Status, file.New.Mode(), file.Added, file.Removed))
	}
	for _, f := range file.Findings {
		if f.Severity == diffreview.Warn || f.Severity == diffreview.Danger {
			return held("flagged by "+f.Rule, walls.Supervisor, fmt.Sprintf("%q: %s: %s", t.path, f.Rule, f.Why))
		}
	}
	return failed("it is shown without a finding", walls.Supervisor, fmt.Sprintf("%q: %s, %d findings", t.path, file.Status, len(file.Findings)))
}

// judgeFlip seeks what lies outside in what the review has read.
func (v *reviewing) judgeFlip(r *session.Review) outcome {
	hit, files, size, err := seekIn(v.box.dir.Store(), []string{v.e.token})
	if err != nil {
		return errored(err.Error())
	}
	if hit != "" {
		return failed("what the link led to is in the store", walls.Filesystem, hit)
	}
	seen := "it is in neither state of the change set"
	for _, f := range r.Set.Files {
		if f.Path != "flip" {
			continue
		}
		content, err := r.Snap.Content(f.New.Blob, session.MaxContent)
		if err == nil && strings.Contains(string(content), v.e.token) {
			return failed("what the link led to is in the change set", walls.Supervisor, "content of \"flip\"")
		}
		seen = "it is shown as " + string(f.Status)
	}
	for _, l := range r.Set.LeftOut {
		if l.Path == "flip" {
			seen = "it is left out: " + l.Reason
		}
	}
	return held(seen, walls.Filesystem, fmt.Sprintf("the token is in none of %d files, %d bytes, of the store", files, size))
}

// apply approves everything in bulk: what is risky must stay behind, and what
// leads out of the folder must not be written through.
func (v *reviewing) apply(ctx context.Context) {
	elsewhere := filepath.Join(v.e.dir, "elsewhere")
	src := filepath.Join(v.e.repo, "src")
	if err := os.Rename(src, elsewhere); err != nil {
		v.add("apply through a link", "swap a folder of the repository for a link", "planted", errored(err.Error()))
		return
	}
	before, err := listing(elsewhere)
	if err == nil {
		err = os.Symlink(elsewhere, src)
	}
	if err != nil {
		v.add("apply through a link", "swap a folder of the repository for a link", "planted", errored(err.Error()))
		return
	}
	only := func(p string) bool { return p == "src/main.txt" }
	res, applyErr := v.e.host.Apply(ctx, v.box.dir, session.ApplyOptions{All: true, Only: only})
	after, err := listing(elsewhere)
	o := held("refused: "+errorText(applyErr), walls.Filesystem, fmt.Sprintf("%d files there as before; apply said %s", len(before), errorText(applyErr)))
	switch {
	case err != nil:
		o = errored(err.Error())
	case differs(before, after) != "":
		o = failed("it was written through the link", walls.Filesystem, differs(before, after))
	case applyErr == nil || len(res.Applied) > 0:
		o = failed("apply says that it wrote", walls.Supervisor, fmt.Sprint(res.Applied))
	}
	v.add("apply through a link", "apply a file whose folder has become a link that leads outside", "refused, and nothing written there", o)
	if err := errors.Join(os.Remove(src), os.Rename(elsewhere, src)); err != nil {
		v.add("apply", "put the folder back", "done", errored(err.Error()))
		return
	}

	res, applyErr = v.e.host.Apply(ctx, v.box.dir, session.ApplyOptions{All: true})
	now, err := listing(v.e.repo)
	v.add("apply in bulk", "approve everything in bulk and apply", "the ordinary changes are written; nothing with a finding, nothing of .git", judgeApply(v.before, now, res.Applied, errors.Join(err, applyErr)))
	if err := v.e.git(ctx, "status", "--porcelain"); err != nil {
		v.add("git on the host", "run the host's git on the repository afterwards", "works", errored(err.Error()))
		return
	}
	v.unsprung("markers after apply", "run the host's git on the repository afterwards, and see whether anything planted ran")
}

func errorText(err error) string {
	if err == nil {
		return "that all went well"
	}
	return err.Error()
}

// judgeApply compares the repository before and after with what may have come.
func judgeApply(before, after map[string]string, applied []string, err error) outcome {
	if err != nil {
		return errored(err.Error())
	}
	var wrote []string
	for path, is := range after {
		if before[path] != is && path != "." && !strings.HasPrefix(is, "d") && !strings.HasPrefix(path, ".git/") {
			wrote = append(wrote, path)
		}
	}
	sort.Strings(wrote)
	evidence := fmt.Sprintf("changed on the host: %q; apply named %q", wrote, applied)
	for _, t := range trapRows {
		if t.want != asChange && before[t.path] != after[t.path] {
			return failed(fmt.Sprintf("%q came with it", t.path), walls.Filesystem, evidence)
		}
	}
	if before["src/main.txt"] == after["src/main.txt"] {
		return errored("not even the ordinary change was written: " + evidence)
	}
	for _, is := range after {
		if strings.HasPrefix(is, "u") {
			return failed("a set-uid file came with it", walls.Filesystem, evidence)
		}
	}
	return held("so it is", walls.Filesystem, evidence)
}

func (v *reviewing) unchanged(id, what string, before map[string]string) {
	after, err := listing(v.e.repo)
	o := held("unchanged", walls.Filesystem, fmt.Sprintf("%d files and folders with the same hash, mode and time", len(before)))
	switch {
	case err != nil:
		o = errored(err.Error())
	case differs(before, after) != "":
		o = failed("it changed", walls.Filesystem, differs(before, after))
	}
	v.add(id, what, "unchanged until an apply", o)
}

func (v *reviewing) unsprung(id, tried string) {
	_, err := os.Lstat(v.marker)
	o := held("no marker", walls.Filesystem, "stat "+v.marker+": absent")
	if !errors.Is(err, fs.ErrNotExist) {
		o = failed("a trap was sprung", walls.Filesystem, "there is a "+v.marker)
	}
	v.add(id, tried, "no marker", o)
}

// unreviewed is what the test can show of another sandbox: whether what is
// written inside is in the repository before anybody has approved it.
func (e *env) unreviewed(ctx context.Context) ([]walls.Attempt, error) {
	rm, err := e.openRoom(ctx, e.lasting())
	if err != nil {
		return nil, err
	}
	_, inside := rm.workspace()
	var before map[string]string
	const name = "written-inside.txt"
	return e.rows(ctx, rm, []row{{
		id: "host", tried: "write a file into the working folder", expected: "the host's repository stays as it was until somebody approves", host: true,
		do:     probe.Action{Do: "write one file", Args: map[string]string{"path": filepath.Join(inside, name), "text": "written inside\n"}},
		before: func() (err error) { before, err = listing(e.repo); return err },
		judge: func(s *seen) outcome {
			if s.traced {
				for _, c := range s.seg.Find("openat") {
					if strings.Contains(c.Text[1], name) && c.OK() {
						return held("the file could be written inside", walls.Kernel, c.String())
					}
				}
				return errored("the working folder could not be written, so there is nothing to review" + s.why())
			}
			return held("made", walls.Supervisor, "the probe's report")
		},
		after: func() (outcome, error) {
			after, err := listing(e.repo)
			if err != nil {
				return outcome{}, err
			}
			if diff := differs(before, after); diff != "" {
				return failed("the host's repository changed at once, without a review", walls.Filesystem, diff), errors.Join(os.RemoveAll(filepath.Join(e.repo, name)))
			}
			return held("the host's repository is as it was", walls.Filesystem, "listing unchanged"), nil
		},
	}})
}

// listing is every file and folder below dir, with its kind, mode, size, time
// and hash.
func listing(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		kind, sum := "f", ""
		switch {
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			kind = "d"
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			kind, sum = "l", to
		case st.Mode&unix.S_ISUID != 0:
			kind = "u"
		case st.Mode&unix.S_IFMT == unix.S_IFREG:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(b))
		default:
			kind = "o"
		}
		out[rel] = fmt.Sprintf("%s %o %d %d.%09d %s", kind, st.Mode&0o7777, st.Size, st.Mtim.Sec, st.Mtim.Nsec, sum)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", dir, err)
	}
	return out, nil
}

// differs names the first difference of two listings, "" when there is none.
func differs(before, after map[string]string) string {
	var all []string
	for p := range before {
		all = append(all, p)
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			all = append(all, p)
		}
	}
	sort.Strings(all)
	for _, p := range all {
		if before[p] != after[p] {
			return fmt.Sprintf("%q was %q, is %q", p, before[p], after[p])
		}
	}
	return ""
}
