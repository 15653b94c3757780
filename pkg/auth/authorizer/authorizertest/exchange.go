package authorizertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Exchange is a whole request with its answer. It is sent by somebody, or by a member of system:masters if the name is "". In the body and
// in the message, UID(PATH) is the uid of the object at a path.
type Exchange struct {
	Who
	Method  string          `json:"method"`
	URL     string          `json:"url"`
	Body    json.RawMessage `json:"body,omitempty"`
	Until   int             `json:"until,omitempty"` // it is repeated until the code is this one: authorizers follow the objects
	Code    int             `json:"code"`
	Message string          `json:"message,omitempty"` // of the Status, if the code is an error
}

// Send sends a request to a server, in the name of somebody or, for nil, as a member of system:masters. It returns the body of the answer,
// of a watch only once that has ended.
type Send func(who *Who, method, url string, body []byte) (code int, answer []byte, err error)

var uidOf = regexp.MustCompile(`UID\(([^)]+)\)`)

// Exchange sends the exchanges in their order, and sets their answers.
func (r *Recording) Exchange(send Send) error {
	uids := map[string]string{}
	for i := range r.Exchanges {
		if err := r.Exchanges[i].send(send, uids); err != nil {
			return fmt.Errorf("exchange %d: %s %s: %w", i, r.Exchanges[i].Method, r.Exchanges[i].URL, err)
		}
	}
	return nil
}

// patience is how long an exchange may be repeated, with a pause between.
const (
	patience = time.Minute
	pause    = 20 * time.Millisecond
)

func (e *Exchange) send(send Send, uids map[string]string) error {
	body, err := e.body(send, uids)
	if err != nil {
		return err
	}
	who := &e.Who
	if e.User == "" {
		who = nil
	}
	for begun := time.Now(); ; time.Sleep(pause) {
		var answer []byte
		if e.Code, answer, err = send(who, e.Method, e.URL, body); err != nil {
			return err
		}
		if e.Message = ""; e.Code >= 400 {
			e.Message = messageOf(answer)
		}
		switch {
		case e.Until == 0 || e.Code == e.Until:
			for path, uid := range uids {
				e.Message = strings.ReplaceAll(e.Message, uid, "UID("+path+")")
			}
			return nil
		case time.Since(begun) > patience:
			return errors.New("its code does not become the one that it waits for")
		}
	}
}

// body returns the body with the uids in it.
func (e *Exchange) body(send Send, uids map[string]string) ([]byte, error) {
	for _, found := range uidOf.FindAllSubmatch(e.Body, -1) {
		path := string(found[1])
		if uids[path] != "" {
			continue
		}
		_, answer, err := send(nil, "GET", path, nil)
		var object struct{ Metadata struct{ UID string } }
		if err == nil {
			err = json.Unmarshal(answer, &object)
		}
		if err != nil {
			return nil, err
		}
		uids[path] = object.Metadata.UID
	}
	return uidOf.ReplaceAllFunc(e.Body, func(found []byte) []byte { return []byte(uids[string(found[4:len(found)-1])]) }), nil
}

// messageOf returns the message of a Status. What today's server adds to it as a difference of Go values is cut off.
func messageOf(answer []byte) string {
	var status struct{ Message string }
	_ = json.Unmarshal(answer, &status) // what is no Status has no message
	message, _, _ := strings.Cut(status.Message, ": @@ ")
	return message
}
