package seccomp

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// What a filter returns.
const (
	retAllow = 0x7fff0000
	retErrno = 0x00050000
)

// Offsets in struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

const x32Bit = 0x40000000

// Compile makes the program for one machine. A row whose call the machine does
// not have is left out; a row that is not understood is an error.
func Compile(a Arch, rows []Row) ([]bpf.RawInstruction, error) {
	return compile(a, rows, nativeOnly(a))
}

// CompileForeign lets the machine's other ABIs through. It is for showing what
// their refusal is good for, in a sandbox that is thrown away.
func CompileForeign(a Arch, rows []Row) ([]bpf.RawInstruction, error) {
	return compile(a, rows, foreignToo(a))
}

// nativeOnly is the head of every program: it refuses what the rows can't judge.
func nativeOnly(a Arch) []bpf.Instruction {
	return []bpf.Instruction{
		// Another ABI has other numbers for the same calls, so each rule below
		// would be blind to it: 32-bit calls reach the kernel from a 64-bit
		// program by int 0x80. Refused by an errno, so that the caller can say so.
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.Audit, SkipTrue: 1},
		bpf.RetConstant{Val: retErrno | eNOSYS},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		// This covers x32 too, whose numbers have bit 30 set; and -1, which a
		// tracer uses to skip a call.
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: a.Highest, SkipTrue: 1},
		bpf.RetConstant{Val: retErrno | eNOSYS},
	}
}

func foreignToo(a Arch) []bpf.Instruction {
	head := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.Audit, SkipTrue: 1},
		bpf.RetConstant{Val: retAllow},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	}
	if a.X32 {
		head = append(head, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1}, bpf.RetConstant{Val: retAllow})
	}
	return append(head, bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: a.Highest, SkipTrue: 1}, bpf.RetConstant{Val: retErrno | eNOSYS})
}

func compile(a Arch, rows []Row, head []bpf.Instruction) ([]bpf.RawInstruction, error) {
	blocks, err := blocksOf(a, rows)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(append(head, search(blocks)...))
	if err != nil {
		return nil, fmt.Errorf("seccomp: assemble: %w", err)
	}
	if len(raw) > 4096 {
		return nil, fmt.Errorf("seccomp: %d instructions, the kernel takes 4096", len(raw))
	}
	return raw, nil
}

// block is what runs for one call.
type block struct {
	nr   uint32
	body []bpf.Instruction
}

func blocksOf(a Arch, rows []Row) ([]block, error) {
	var out []block
	for _, g := range groups(rows) {
		nr, ok := a.Calls[g[0].Call]
		if !ok {
			continue
		}
		if nr > a.Highest || nr >= x32Bit {
			return nil, fmt.Errorf("seccomp: call %q has number %d, above the highest known %d", g[0].Call, nr, a.Highest)
		}
		body, err := bodyOf(g)
		if err != nil {
			return nil, err
		}
		out = append(out, block{nr, body})
	}
	slices.SortFunc(out, func(a, b block) int { return int(a.nr) - int(b.nr) })
	return out, nil
}

// leaf is up to how many blocks are tried one after another.
const leaf = 3

// search finds the block of a number by halving. The kernel runs the program
// once for every number when it is loaded, to remember what is always allowed;
// through a plain chain that took a millisecond for each thread.
func search(blocks []block) []bpf.Instruction {
	if len(blocks) > leaf {
		mid := len(blocks) / 2
		left, right := search(blocks[:mid]), search(blocks[mid:])
		out := []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: blocks[mid].nr, SkipFalse: 1},
			bpf.Jump{Skip: uint32(len(left))},
		}
		return append(append(out, left...), right...)
	}
	var out []bpf.Instruction
	for _, b := range blocks {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: b.nr, SkipFalse: uint8(len(b.body))})
		out = append(out, b.body...)
	}
	return append(out, bpf.RetConstant{Val: retAllow})
}

// groups puts the rows of one call together, in the order of the first.
func groups(rows []Row) [][]Row {
	var out [][]Row
	at := map[string]int{}
	for _, r := range rows {
		i, ok := at[r.Call]
		if !ok {
			i = len(out)
			at[r.Call] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// bodyOf is what runs for one call: each row in turn, then allow.
func bodyOf(rows []Row) ([]bpf.Instruction, error) {
	var body []bpf.Instruction
	open := false // the last row may not have matched
	for _, r := range rows {
		if r.Errno == 0 || r.Why == "" {
			return nil, fmt.Errorf("seccomp: a row of %q has no errno or no reason", r.Call)
		}
		one, err := rowOf(r)
		if err != nil {
			return nil, err
		}
		body = append(body, one...)
		open = len(r.When) > 0
		if !open {
			break // nothing after it can be reached
		}
	}
	if open {
		body = append(body, bpf.RetConstant{Val: retAllow})
	}
	if len(body) > 255 {
		return nil, fmt.Errorf("seccomp: the rows of %q take %d instructions, a jump reaches 255", rows[0].Call, len(body))
	}
	return body, nil
}

// rowOf tests the conditions one after another; the first that does not hold
// jumps over the refusal.
func rowOf(r Row) ([]bpf.Instruction, error) {
	out := []bpf.Instruction{bpf.RetConstant{Val: retErrno | uint32(r.Errno)}}
	for i := len(r.When) - 1; i >= 0; i-- {
		c := r.When[i]
		if c.Arg < 0 || c.Arg > 5 {
			return nil, fmt.Errorf("seccomp: %q has no argument %d", r.Call, c.Arg)
		}
		rest := uint8(len(out))
		low, high := uint32(offArgs+8*c.Arg), uint32(offArgs+8*c.Arg+4) // little-endian
		var test []bpf.Instruction
		if c.Op == AboveOrHigh {
			test = append(test,
				bpf.LoadAbsolute{Off: high, Size: 4},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2}) // over load and test
		}
		test = append(test, bpf.LoadAbsolute{Off: low, Size: 4})
		if c.Mask != 0xffffffff {
			test = append(test, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.Mask})
		}
		switch c.Op {
		case Equal:
			test = append(test, bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.Val, SkipFalse: rest})
		case NotEqual:
			test = append(test, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.Val, SkipFalse: rest})
		case Above, AboveOrHigh:
			test = append(test, bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: c.Val, SkipFalse: rest})
		default:
			return nil, fmt.Errorf("seccomp: %q has an unknown comparison %d", r.Call, c.Op)
		}
		if c.Op == AboveOrHigh && c.Mask != 0xffffffff {
			return nil, fmt.Errorf("seccomp: %q: a mask does not go with all 64 bits", r.Call)
		}
		out = append(test, out...)
	}
	return out, nil
}
