package today

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Asked is what a webhook was asked.
type Asked struct {
	Path    string
	Request json.RawMessage
}

// Webhooks is the handler of the webhooks of recorded requests. It is safe for concurrent use.
type Webhooks struct {
	URL, CA string // as clients configure them: the CA in base64

	mu      sync.Mutex
	answers map[string]json.RawMessage
	asked   []Asked
}

// ServeHTTP implements http.Handler.
func (w *Webhooks) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	var review struct{ Request json.RawMessage }
	var request struct{ UID string }
	if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request, &request) != nil {
		to.WriteHeader(http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.asked = append(w.asked, Asked{r.URL.Path, review.Request})
	answer := w.answers[r.URL.Path]
	w.mu.Unlock()
	to.Header().Set("Content-Type", "application/json")
	if text := ""; json.Unmarshal(answer, &text) == nil {
		fmt.Fprint(to, text) // it is broken
		return
	}
	var response map[string]any
	if json.Unmarshal(answer, &response) != nil {
		return
	}
	if patch := response["patch"]; patch != nil {
		text, _ := json.Marshal(patch) // it came from JSON
		response["patch"], response["patchType"] = text, "JSONPatch"
	}
	response["uid"] = request.UID
	_ = json.NewEncoder(to).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}) // else the client is gone
}

// take returns what the webhooks were asked since the last call, by path.
func (w *Webhooks) take() []Asked {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	slices.SortStableFunc(asked, func(a, b Asked) int { return cmp.Compare(a.Path, b.Path) })
	return asked
}

// Replay sends the requests one after the other, with the webhooks of the recording. What is known to differ is not waited for.
func (w *Webhooks) Replay(ctx context.Context, client *http.Client, server string, requests []Request, known []Edit) (steps []Step, err error) {
	hide := strings.NewReplacer(w.URL, "$WEBHOOKS", w.CA, "$CA")
	w.answers = map[string]json.RawMessage{}
	for i, r := range requests {
		if r.Hook != "" {
			w.mu.Lock()
			w.answers[r.Hook] = r.Response
			w.mu.Unlock()
			continue
		}
		step := Step{Name: fmt.Sprint(i, " ", r.Method, " ", r.Path),
			Want: answerText(r.Status, func(name string) string { return r.Headers[name] }, r.Answer) + askedText(r.Asked)}
		later := step.Want
		for _, edit := range known {
			later = edit.apply(step.Name, later)
		}
		r.Body = strings.NewReplacer("$WEBHOOKS", w.URL, "$CA", w.CA).Replace(r.Body)
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if step.Got, err = r.send(ctx, client, server); err != nil {
				return nil, err
			}
			step.Got = hide.Replace(step.Got + askedText(w.take()))
			if same := replace(step.Got, answerMasks) == replace(later, answerMasks); !r.Later || same || time.Now().After(end) {
				break
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// managedFirst are managed fields that are the first member of an object.
var managedFirst = regexp.MustCompile(`"managedFields":\[[^\]]*\],`)

// askedText puts what webhooks were asked into the form in which answers are compared.
func askedText(all []Asked) string {
	var text strings.Builder
	for _, one := range all {
		fmt.Fprintf(&text, "\nthe webhook %s was asked:\n%s", one.Path, streamText(managedFirst.ReplaceAllString(managed.ReplaceAllString(string(one.Request), ""), "")))
	}
	return text.String()
}
