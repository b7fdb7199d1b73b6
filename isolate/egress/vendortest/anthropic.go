package vendortest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// messages is POST /v1/messages: a call of the shell tool, and the answer once
// the tool's result is there. Requests without that tool, as for a title, are
// answered at once.
func messages(w http.ResponseWriter, body []byte, s Script) {
	var q struct {
		Stream bool
		Model  string
		Tools  []struct{ Name string }
	}
	if err := json.Unmarshal(body, &q); err != nil {
		say(w, http.StatusBadRequest, `{"type":"error","error":{"type":"invalid_request_error","message":"not JSON"}}`)
		return
	}
	shell := ""
	for _, t := range q.Tools {
		if strings.EqualFold(t.Name, "bash") {
			shell = t.Name
		}
	}
	text := map[string]any{"type": "text", "text": s.Answer}
	use := map[string]any{
		"type": "tool_use", "id": "toolu_01Made0Up", "name": shell,
		"input": map[string]any{"command": s.Command, "description": "one command"},
	}
	block, stop := text, "end_turn"
	if shell != "" && !called(body, `"tool_result"`) {
		block, stop = use, "tool_use"
	}
	usage := map[string]any{"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	msg := map[string]any{
		"id": "msg_01Made0Up", "type": "message", "role": "assistant", "model": q.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !q.Stream {
		msg["content"], msg["stop_reason"] = []any{block}, stop
		b, err := json.Marshal(msg)
		if err != nil {
			return // maps of texts and numbers: cannot be
		}
		say(w, http.StatusOK, string(b))
		return
	}
	begin, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": s.Answer}
	if stop == "tool_use" {
		input, err := json.Marshal(use["input"])
		if err != nil {
			return
		}
		begin = map[string]any{"type": "tool_use", "id": use["id"], "name": shell, "input": map[string]any{}}
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
	}
	events(w,
		map[string]any{"type": "message_start", "message": msg},
		map[string]any{"type": "content_block_start", "index": 0, "content_block": begin},
		map[string]any{"type": "content_block_delta", "index": 0, "delta": delta},
		map[string]any{"type": "content_block_stop", "index": 0},
		map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage},
		map[string]any{"type": "message_stop"})
}

func countTokens(w http.ResponseWriter, _ []byte, _ Script) {
	say(w, http.StatusOK, `{"input_tokens":10}`)
}
