package probe

import (
	"encoding/json"
	"strings"
)

// Name is how a program file has to begin to become a probe.
const Name = "fumehood-probe"

// Line is what each line that a probe says begins with; other lines are those
// of what it started.
const Line = "\x1efumehood-probe "

// Job is one line of JSON on a probe's standard input.
type Job struct {
	Actions []Action `json:"actions"`
	// Stay keeps the probe alive after its last action until its standard
	// input ends.
	Stay bool `json:"stay,omitempty"`
}

// Action is one attempt.
type Action struct {
	Seq   int    `json:"seq"`
	Nonce uint64 `json:"nonce"`
	// Do names a function of the probe's own; "" runs Steps.
	Do    string            `json:"do,omitempty"`
	Args  map[string]string `json:"args,omitempty"`
	Steps []Step            `json:"steps,omitempty"`
}

// Step is one system call, made raw on the thread that made the mark.
type Step struct {
	Call string `json:"call"` // a name of the seccomp package's table, or a number
	// Args are at most six, each one of
	//
	//	12 -100 0x1f 0o644   a number
	//	s:TEXT               the address of TEXT with a zero byte behind
	//	d:BASE64             the address of these bytes
	//	z:N                  the address of N zero bytes, read back afterwards
	//	len:I                the length of argument I's memory
	//	$NAME                what an earlier step saved
	//	bad                  the address 1, which is never mapped
	//
	// and what is missing is 0.
	Args []string `json:"args,omitempty"`
	Save string   `json:"save,omitempty"` // keeps the result, for "$NAME"
	// Always runs the step although an earlier one failed.
	Always bool `json:"always,omitempty"`
}

// Said is what a probe tells of one action.
type Said struct {
	Seq   int    `json:"seq"`
	Errno int    `json:"errno"` // of the first step that failed
	Step  int    `json:"step"`  // its number, from 1; 0 when none did
	Text  string `json:"text,omitempty"`
	// Got is what was read, at most MaxGot bytes of it.
	Got []byte `json:"got,omitempty"`
	// Err says that the action could not be tried at all.
	Err string `json:"err,omitempty"`
}

// MaxGot bounds what one action hands out.
const MaxGot = 1 << 20

// Hello is the first line that a probe says.
type Hello struct {
	PID int `json:"pid"` // inside
	UID int `json:"uid"`
	// Environ is its whole environment.
	Environ []string `json:"environ"`
	Dir     string   `json:"dir"`
}

// Message is a line of a probe's; exactly one field is set.
type Message struct {
	Hello *Hello `json:"hello,omitempty"`
	Said  *Said  `json:"said,omitempty"`
	Done  bool   `json:"done,omitempty"`
}

// Parse reads a line of output; ok is false for one that is not the probe's.
func Parse(line string) (m Message, ok bool) {
	rest, found := strings.CutPrefix(strings.TrimRight(line, "\r\n"), Line)
	if !found {
		return Message{}, false
	}
	if err := json.Unmarshal([]byte(rest), &m); err != nil {
		return Message{}, false
	}
	return m, true
}
