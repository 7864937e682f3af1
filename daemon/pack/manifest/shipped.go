package manifest

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed shipped
var shipped embed.FS

// Shipped are the ids of the packs that are part of the program as manifests.
func Shipped() (ids []string) {
	files, err := shipped.ReadDir("shipped")
	if err != nil {
		panic(fmt.Sprintf("manifest: %v", err)) // it is part of the program
	}
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), ".yaml"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// ShippedText is the manifest of a pack that is part of the program; ok is false if there is none.
func ShippedText(id string) (text []byte, ok bool) {
	text, err := shipped.ReadFile(path.Join("shipped", id+".yaml"))
	return text, err == nil
}
