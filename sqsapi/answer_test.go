package sqsapi

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
)

// answer is what a request was answered with, the same for both protocols:
// values by path, as in Messages.1.Body, and the code of an error.
type answer struct {
	status int
	code   string
	text   string
	values map[string]string
}

// jsonAnswer reads an answer of the JSON protocol. queryError is the header
// with the code of an error.
func jsonAnswer(t *testing.T, status int, queryError string, body []byte) answer {
	t.Helper()
	a := answer{status: status, values: map[string]string{}}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	a.flatten("", v)
	if status >= 300 {
		a.code, _, _ = strings.Cut(queryError, ";")
		a.text = a.values["message"]
		a.values = nil
	}
	return a
}

func (a *answer) flatten(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			a.flatten(strings.TrimPrefix(path+"."+name, "."), member)
		}
	case []any:
		for i, element := range v {
			a.flatten(path+"."+strconv.Itoa(i+1), element)
		}
		if len(v) == 0 {
			a.values[path+".0"] = "" // an empty list is not the same as none
		}
	default:
		a.values[path] = fmt.Sprint(v)
	}
}

// below says whether there is anything below a path, also an empty list.
func (a *answer) below(path string) bool {
	for have := range a.values {
		if strings.HasPrefix(have, path+".") {
			return true
		}
	}
	return false
}

// element is an XML element.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

// The lists and maps of the Query protocol, by the names of their elements.
var (
	xmlLists = map[string]string{
		"Message": "Messages", "BatchResultErrorEntry": "Failed", "SendMessageBatchResultEntry": "Successful",
		"DeleteMessageBatchResultEntry": "Successful", "ChangeMessageVisibilityBatchResultEntry": "Successful",
		"ListMessageMoveTasksResultEntry": "Results",
	}
	xmlMaps = map[string]string{"Attribute": "Attributes", "MessageAttribute": "MessageAttributes", "Tag": "Tags"}
)

// xmlAnswer reads an answer of the Query protocol and checks its frame.
func xmlAnswer(t *testing.T, status int, action string, requestID string, body []byte) answer {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(body))
	var root element
	if err := d.Decode(&root); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("answer %q goes on after its end", body)
	}
	a := answer{status: status, values: map[string]string{}}
	if root.XMLName.Space != "http://queue.amazonaws.com/doc/2012-11-05/" {
		t.Errorf("namespace %q", root.XMLName.Space)
	}
	if status >= 300 {
		a.members("", "", root.Children)
		if root.XMLName.Local != "ErrorResponse" || a.values["RequestId"] != requestID || a.values["Error.Type"] == "" {
			t.Errorf("error %s", body)
		}
		return answer{status, a.values["Error.Code"], a.values["Error.Message"], nil}
	}
	last := root.Children[len(root.Children)-1]
	if root.XMLName.Local != action+"Response" || last.XMLName.Local != "ResponseMetadata" ||
		last.Children[0].Text != requestID {
		t.Errorf("answer %s", body)
	}
	if len(root.Children) == 2 && root.Children[0].XMLName.Local == action+"Result" {
		a.members(action, "", root.Children[0].Children)
	} else if len(root.Children) != 1 {
		t.Errorf("answer %s", body)
	}
	return a
}

// members flattens the children of an element under the names of JSON.
func (a *answer) members(action, prefix string, children []element) {
	counts := map[string]int{}
	for _, e := range children {
		name := e.XMLName.Local
		list, isList := xmlLists[name]
		switch {
		case name == "Message" && len(e.Children) == 0: // the text of an error
			isList = false
		case name == "QueueUrl" && action == "ListQueues":
			list, isList = "QueueUrls", true
		case name == "QueueUrl" && action == "ListDeadLetterSourceQueues":
			list, isList = "queueUrls", true
		}
		switch kind, isMap := xmlMaps[name]; {
		case isMap:
			a.leaf(action, prefix+kind+"."+e.Children[0].Text, e.Children[1])
		case isList:
			counts[list]++
			a.leaf(action, fmt.Sprint(prefix, list, ".", counts[list]), e)
		default:
			a.leaf(action, prefix+name, e)
		}
	}
}

func (a *answer) leaf(action, path string, e element) {
	if len(e.Children) == 0 {
		a.values[path] = e.Text
		return
	}
	a.members(action, path+".", e.Children)
}
