//go:build !nodevchain

package devchain_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/devchain"
)

// TestBindingIsFresh compares the binding with the compiled form.
func TestBindingIsFresh(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("TestUSDG.bin")
	if err != nil {
		t.Fatal(err)
	}
	if devchain.TestUSDGMetaData.Bin != "0x"+strings.TrimSpace(string(code)) {
		t.Error("binding.go has other code; run go generate ./internal/devchain")
	}
	text, err := os.ReadFile("TestUSDG.abi.json")
	if err != nil {
		t.Fatal(err)
	}
	var have, want any
	if err := json.Unmarshal([]byte(devchain.TestUSDGMetaData.ABI), &have); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("binding.go has another interface, %v; run go generate ./internal/devchain", err)
	}
}
