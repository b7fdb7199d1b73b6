package prove

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// muchLines is how many pieces of probe.Much are written where output is cut:
// some two MiB.
const muchLines = 50_000

// muchKept is the most that is stored of them, where the policy allows more.
const muchKept = 1 << 20

// resultTold makes captured runs as "run --json" makes them, and compares what
// is told of each with what it is known to do.
func resultTold(ctx context.Context, e *env) ([]walls.Attempt, error) {
	c := &captures{e: e}
	pol := timed(e.pol, "", 0)
	if pol.Limits.OutputBytes > muchKept {
		pol.Limits.OutputBytes = muchKept
	}
	var jobs []job
	for _, r := range toldTable(muchLines) {
		jobs = append(jobs, job{r.id, r.tried, r.expected, func(ctx context.Context) (outcome, error) {
			_, word := nonce()
			got, err := c.run(ctx, pol, func(program, repo string) []string { return r.argv(program, repo, word) })
			if err != nil {
				return outcome{}, err
			}
			t := told{
				res: got.res, code: got.end.Code, began: got.end.Began, stored: got.out, gap: got.gap, word: word,
				chars: pol.Limits.OutputChars, bytes: int64(pol.Limits.OutputBytes),
			}
			// The session has ended, so that nothing swaps the file meanwhile.
			if text, err := os.ReadFile(filepath.Join(got.dir.Workspace(), writtenName(word))); err == nil {
				t.file = string(text)
			}
			return r.judge(t), nil
		}})
	}
	return e.together(ctx, 2, jobs)
}

func writtenName(word string) string { return "written-" + word + ".txt" }

// toldRow is one run, and what has to be told of it.
type toldRow struct {
	id, tried, expected string
	argv                func(program, repo, word string) []string
	judge               func(t told) outcome
}

func toldTable(lines int) []toldRow {
	child := func(args ...string) func(program, _, _ string) []string {
		return func(program, _, _ string) []string { return append([]string{program}, args...) }
	}
	total := int64(len("first word\n")+len("last word\n")) + int64(lines)*int64(len(probe.Much))
	return []toldRow{
		{
			"much", fmt.Sprintf("write %d bytes with control characters", total), "cut at the caps, each cut announced with its amount; first and last word there; nothing that a terminal obeys",
			child("tell-much", strconv.Itoa(lines)), func(t told) outcome { return judgeMuch(t, total) },
		},
		{"exit", "end with status 7", "exit_code 7, started, no signal", child("tell-exit"), func(t told) outcome { return judgeEndOf(t, 7, "") }},
		{"crash", "abort", "signal SIGABRT, started, no exit_code", child("tell-abort"), func(t told) outcome { return judgeEndOf(t, -1, "SIGABRT") }},
		{"signal", "end itself by SIGTERM", "signal SIGTERM, started, no exit_code", child("tell-term"), func(t told) outcome { return judgeEndOf(t, -1, "SIGTERM") }},
		{
			"no such command", "run a command that does not exist", "127, and not started",
			func(_, _, word string) []string { return []string{"fumehood-no-such-command-" + word} }, func(t told) outcome { return judgeNotBegun(t, 127) },
		},
		{
			"not executable", "run a file of the workspace that is not executable", "126, and not started",
			func(_, repo, _ string) []string { return []string{filepath.Join(repo, "README.md")} }, func(t told) outcome { return judgeNotBegun(t, 126) },
		},
		{"last words", "fill the pipe and exit at once", "all of it is there, to the last word", child("tell-last"), judgeLast},
		{
			"file", "write a file in the workspace", "its path is listed, and nothing else",
			func(program, _, word string) []string { return []string{program, "tell-file", writtenName(word), word} }, judgeFile,
		},
	}
}
