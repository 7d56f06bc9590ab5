package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNotify(t *testing.T) {
	mails := t.TempDir()
	var out bytes.Buffer
	if err := notify(strings.NewReader("a"), &out, "../contacts.json", mails); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "{\"key\":\"b\"}\n{\"key\":\"c\"}\n{\"key\":\"d\"}\n" {
		t.Errorf("the contacts are %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(mails, "a")); err != nil || !strings.HasPrefix(string(text), "Dear a,") {
		t.Errorf("the notice is %q, %v", text, err)
	}
	t.Setenv("MUSTER_TREE_DEPTH_LEFT", "0")
	out.Reset()
	if err := notify(strings.NewReader("a"), &out, "../contacts.json", mails); err != nil || out.Len() > 0 {
		t.Errorf("where the depth is used up %q are named, %v", out.String(), err)
	}
	if err := notify(strings.NewReader("nobody"), &out, "../contacts.json", mails); err == nil {
		t.Error("somebody unknown was told")
	}
}
