package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestJSONHoldsNothingThatATerminalObeys(t *testing.T) {
	in := "a\x1b[6n\x7f\u0085\u009b6n\u202e\u200b\ufeff\U000e0041 é 漢 😀 \u00a0 \ufffd\xff"
	var b bytes.Buffer
	if err := printJSON(&b, map[string]string{in: in}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\x7f", "\u0085", "\u009b", "\u202e", "\u200b", "\ufeff", "\U000e0041"} {
		if bytes.Contains(b.Bytes(), []byte(bad)) {
			t.Errorf("%q is in %q", bad, b.String())
		}
	}
	if !bytes.Contains(b.Bytes(), []byte("é 漢 😀")) {
		t.Errorf("plain text was escaped: %s", b.String())
	}
	var got map[string]string
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := string(bytes.ToValidUTF8([]byte(in), []byte("\ufffd")))
	if got[want] != want {
		t.Errorf("got %q back, want %q", got, want)
	}
}
