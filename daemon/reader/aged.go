package reader

import (
	"strconv"
	"time"

	"github.com/contextd/contextd/internal/jsonx"
)

// Aged is text, the JSON of an answer, as it reads when the time by has passed since it was made: the ages in it are counted on, and every
// other byte is as it was. What a state says is not touched: it does not change with the time of reading.
func Aged(text []byte, by time.Duration) []byte {
	seconds := int64(by / time.Second)
	if seconds <= 0 {
		return text
	}
	aged := make([]byte, 0, len(text)+16)
	from := 0
	err := jsonx.Walk(text, func(v *jsonx.Value) error {
		if v.Name != "ageSeconds" && v.Name != "dataAgeSeconds" || inState(v) {
			return nil
		}
		age, err := strconv.ParseInt(string(v.Raw), 10, 64)
		if err != nil {
			return nil // null, or no age
		}
		aged = strconv.AppendInt(append(aged, text[from:v.At]...), age+seconds, 10)
		from = v.At + len(v.Raw)
		return nil
	})
	if err != nil {
		return text
	}
	return append(aged, text[from:]...)
}

// inState reports whether v is part of the state of an answer.
func inState(v *jsonx.Value) bool {
	for ; v.Depth > 0; v = v.Parent {
		if v.Depth == 1 && v.Name == "state" {
			return true
		}
	}
	return false
}
