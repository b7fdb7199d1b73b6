package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fumehood/isolate/egress/account"
)

// extract gives the secret in a source's content. No error tells anything of
// the content.
func extract(content []byte, pointer []string) (string, error) {
	text := string(content)
	if pointer != nil {
		s, err := at(content, pointer)
		if err != nil {
			return "", err
		}
		text = s
	} else {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	return text, account.CheckSecret(text)
}

// at gives the string at a place of a JSON object.
func at(content []byte, pointer []string) (string, error) {
	if !json.Valid(content) {
		return "", errors.New("not JSON")
	}
	for i, name := range pointer {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(content, &object); err != nil || object == nil {
			return "", fmt.Errorf("name %d of the pointer is looked for in what is no object", i+1)
		}
		next, ok := object[name]
		if !ok {
			return "", fmt.Errorf("nothing has name %d of the pointer", i+1)
		}
		content = next
	}
	var s *string
	if err := json.Unmarshal(content, &s); err != nil || s == nil {
		return "", errors.New("what the pointer leads to is no string")
	}
	return *s, nil
}
