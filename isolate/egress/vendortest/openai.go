package vendortest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// tool is one that an agent offers to a model; a namespace holds others.
type tool struct {
	Type  string
	Name  string
	Tools []tool
}

// shells are the names under which agents offer a shell, and the arguments that
// each takes.
var shells = map[string]func(command string) any{
	"exec_command":  func(c string) any { return map[string]any{"cmd": c} },
	"shell_command": func(c string) any { return map[string]any{"command": c} },
	"bash":          func(c string) any { return map[string]any{"command": c, "description": "one command"} },
}

// responses is POST /v1/responses: a call of the shell tool, and the answer once
// the tool's output is there.
func responses(w http.ResponseWriter, body []byte, s Script) {
	var q struct {
		Model string
		Tools []tool
		Input []struct {
			Type  string
			Tools []tool
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		say(w, http.StatusBadRequest, `{"error":{"message":"not JSON"}}`)
		return
	}
	item := map[string]any{
		"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": s.Answer, "annotations": []any{}}},
	}
	offered := q.Tools
	for _, in := range q.Input {
		offered = append(offered, in.Tools...)
	}
	if call := shellCall(offered, "", s.Command); call != nil && !called(body, `_call_output"`) {
		item = call
	}
	made := map[string]any{"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": q.Model, "output": []any{}}
	done := map[string]any{
		"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": q.Model, "output": []any{item},
		"usage": map[string]any{
			"input_tokens": 10, "input_tokens_details": map[string]any{"cached_tokens": 0},
			"output_tokens": 10, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": 20,
		},
	}
	events(w,
		map[string]any{"type": "response.created", "sequence_number": 0, "response": made},
		map[string]any{"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item},
		map[string]any{"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item},
		map[string]any{"type": "response.completed", "sequence_number": 3, "response": done})
}

// shellCall is the call of a shell among the tools, nil when there is none.
func shellCall(tools []tool, within, command string) map[string]any {
	for _, t := range tools {
		if call := shellCall(t.Tools, t.Name, command); call != nil {
			return call
		}
		call := map[string]any{"id": "fc_1", "call_id": "call_1", "name": t.Name, "status": "completed"}
		if within != "" {
			call["namespace"] = within
		}
		if arguments, ok := shells[t.Name]; ok {
			b, err := json.Marshal(arguments(command))
			if err != nil {
				return nil // texts: cannot be
			}
			call["type"], call["arguments"] = "function_call", string(b)
			return call
		}
		if t.Type == "custom" && t.Name == "exec" {
			// Codex's code mode: the model writes JavaScript that calls tools.
			b, err := json.Marshal(command)
			if err != nil {
				return nil
			}
			call["type"], call["input"] = "custom_tool_call", fmt.Sprintf("const r = await tools.exec_command({cmd: %s}); text(r.output);", b)
			return call
		}
	}
	return nil
}
