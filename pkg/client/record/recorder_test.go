package record_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/master/servertest"
)

var web = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1", ResourceVersion: "7"}}

// recorded is a recorder of a server in a synctest bubble.
type recorded struct {
	*servertest.Server
	*record.Recorder
	t      *testing.T
	client *clientv1.Client
}

func start(t *testing.T) *recorded {
	r := prepare(t)
	go r.Run(t.Context())
	return r
}

// prepare is start without Run.
func prepare(t *testing.T) *recorded {
	server := servertest.Start(t)
	client := server.Client(t, "test")
	return &recorded{server, record.NewRecorder(record.Config{Client: client, Component: "kubelet", Host: "m1"}), t, client}
}

// events returns a line for each event that the server has, in the order of their names.
func (r *recorded) events() (lines []string) {
	synctest.Wait()
	list, err := r.client.Events().List(r.t.Context(), metav1.ListOptions{})
	require.NoError(r.t, err)
	for _, event := range list.Items {
		count := int32(1)
		if event.Series != nil {
			count = event.Series.Count
		}
		lines = append(lines, fmt.Sprintf("%s %s %s: %s ×%d", event.InvolvedObject.Name, event.Type, event.Reason, event.Message, count))
	}
	return lines
}

func TestAnEventTellsWhoSaysWhatOfWhich(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.Eventf(web, corev1.EventTypeNormal, "Pulled", "image %q is there", "nginx")
		synctest.Wait()
		list, err := r.client.Events().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		event := list.Items[0]
		assert.Equal(t, corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "default", Name: "web", UID: "1", ResourceVersion: "7"}, event.InvolvedObject)
		assert.Equal(t, corev1.EventSource{Component: "kubelet", Host: "m1"}, event.Source)
		assert.Equal(t, "Normal Pulled image \"nginx\" is there", strings.Join([]string{event.Type, event.Reason, event.Message}, " "))
		assert.True(t, strings.HasSuffix(event.Name, ".web"), event.Name)
		assert.True(t, event.EventTime.Equal(&metav1.MicroTime{Time: time.Now()}))
		assert.True(t, event.LastTimestamp.IsZero())
		assert.Nil(t, event.Series)
	})
}

// K116.
func TestEventsOfASecondAreListedInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		scheduler := record.NewRecorder(record.Config{Client: r.client, Component: "scheduler"})
		servertest.Run(t, scheduler.Run)
		other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "2"}}
		var want []string
		for i, by := range []record.EventRecorder{scheduler, r, r, scheduler, r} {
			about, reason := web, fmt.Sprintf("Step%d", i)
			if i > 2 {
				about = other
			}
			by.Eventf(about, corev1.EventTypeNormal, reason, "m")
			want = append(want, reason)
			time.Sleep(time.Millisecond)
		}
		r.Eventf(web, corev1.EventTypeNormal, want[1], "m")
		synctest.Wait()
		list, err := r.client.Events().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var listed []string
		for _, event := range list.Items {
			listed = append(listed, event.Reason)
		}
		assert.Equal(t, want, listed)
		assert.True(t, list.Items[1].Series.LastObservedTime.Equal(&metav1.MicroTime{Time: time.Now()}), "kubectl events shows it last")
	})
}

func TestAMessageThatIsTooLongIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.Host = strings.Repeat("m", 253)
		r.Eventf(web, corev1.EventTypeNormal, "Long", "%s", strings.Repeat("ü", 513))
		r.Eventf(web, corev1.EventTypeNormal, "Short", "%s", strings.Repeat("ü", 512))
		synctest.Wait()
		list, err := r.client.Events().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 2)
		assert.Equal(t, strings.Repeat("ü", 510)+"...", list.Items[0].Message)
		assert.Equal(t, strings.Repeat("ü", 512), list.Items[1].Message)
	})
}

func TestTheKindOfAnObjectIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		meta := metav1.ObjectMeta{Namespace: "default", Name: "x", UID: "2"}
		for kind, object := range map[string]clientv1.Object{
			"Job": &batchv1.Job{ObjectMeta: meta}, "Lease": &coordinationv1.Lease{ObjectMeta: meta},
			"Pod": &corev1.Pod{ObjectMeta: meta}, "ReplicationController": &corev1.ReplicationController{ObjectMeta: meta},
			"Service": &corev1.Service{ObjectMeta: meta}, "Endpoints": &corev1.Endpoints{ObjectMeta: meta},
			"Node": &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "2"}},
		} {
			r.Eventf(object, corev1.EventTypeNormal, "Is", kind)
		}
		synctest.Wait()
		list, err := r.client.Events().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 7)
		for _, event := range list.Items {
			assert.Equal(t, event.Message, event.InvolvedObject.Kind)
			assert.Equal(t, cmp.Or(map[string]string{"Job": "batch/v1", "Lease": "coordination.k8s.io/v1"}[event.Message], "v1"), event.InvolvedObject.APIVersion)
			if event.Message == "Node" {
				assert.EqualValues(t, "x", event.InvolvedObject.UID, "kubectl describe looks for its name")
			}
		}
	})
}

func TestEventsThatAreAlikeAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		for range 3 {
			r.Eventf(web, corev1.EventTypeWarning, "BackOff", "again")
		}
		r.Eventf(web, corev1.EventTypeWarning, "BackOff", "other")
		assert.ElementsMatch(t, []string{"web Warning BackOff: again ×3", "web Warning BackOff: other ×1"}, r.events())
		time.Sleep(time.Hour)
		r.Eventf(web, corev1.EventTypeWarning, "BackOff", "again")
		assert.Len(t, r.events(), 3, "after a while it is another one")
	})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
}

// tell records a normal event about the pod web, and passes a second.
func (r *recorded) tell(reason, message string) {
	r.Eventf(web, corev1.EventTypeNormal, reason, message)
	synctest.Wait()
	time.Sleep(time.Second)
}

func TestEventsThatDifferByTheirMessagesAreCombined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var want []string
		for i := range 9 {
			r.tell("Many", fmt.Sprint(i))
			want = append(want, fmt.Sprintf("web Normal Many: %d ×1", i))
		}
		r.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusTooManyRequests)
		})
		r.tell("Many", "9")
		r.Intercept(nil)
		time.Sleep(time.Minute)
		r.tell("Many", "10")
		r.tell("Other", "m")
		r.Eventf(web, corev1.EventTypeWarning, "Many", "m")
		want = append(want, "web Normal Many: (combined from similar events): 10 ×2", "web Normal Other: m ×1", "web Warning Many: m ×1")
		assert.Equal(t, want, r.events())
		r.tell("Many", "0")
		time.Sleep(9 * time.Minute)
		r.tell("Many", strings.Repeat("x", 1000))
		want[0], want[9] = "web Normal Many: 0 ×2", fmt.Sprintf("web Normal Many: (combined from similar events): %s... ×3", strings.Repeat("x", 1024-len("(combined from similar events): ...")))
		assert.Equal(t, want, r.events())
		time.Sleep(10 * time.Minute)
		r.tell("Many", "11")
		assert.Equal(t, append(want, "web Normal Many: 11 ×1"), r.events(), "after a while they are no longer so many")
	})
}

func TestOfAnObjectThatTellsTooMuchSomeEventsAreOnlyCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		for range 1500 {
			r.Eventf(web, corev1.EventTypeNormal, "Killing", "stopping")
			synctest.Wait()
		}
		r.Eventf(web, corev1.EventTypeWarning, "Failed", "m")
		r.Eventf(pod("other"), corev1.EventTypeNormal, "Killing", "stopping")
		others := []string{"web Warning Failed: m ×1", "other Normal Killing: stopping ×1"}
		assert.Equal(t, append([]string{"web Normal Killing: stopping ×25"}, others...), r.events())
		time.Sleep(5*time.Minute - time.Second)
		r.tell("Killing", "stopping")
		assert.Equal(t, append([]string{"web Normal Killing: stopping ×25"}, others...), r.events())
		r.tell("Killing", "stopping")
		r.tell("Killing", "stopping")
		assert.Equal(t, append([]string{"web Normal Killing: stopping ×1502"}, others...), r.events(), "one in five minutes")
	})
}

func TestWhatWasToldIsForgottenWhenMuchWasToldSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		for _, others := range []int{0, 600, 1100} {
			for i := range others {
				r.Eventf(pod(fmt.Sprint(others, "-", i)), corev1.EventTypeNormal, "Killing", "stopping")
				synctest.Wait()
			}
			r.tell("Killing", "stopping")
		}
		events := slices.DeleteFunc(r.events(), func(line string) bool { return !strings.HasPrefix(line, "web ") })
		assert.Equal(t, []string{"web Normal Killing: stopping ×2", "web Normal Killing: stopping ×1"}, events)
	})
}

func TestAnEventThatWasDeletedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.Eventf(web, corev1.EventTypeNormal, "Killing", "stopping")
		synctest.Wait()
		list, err := r.client.Events().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, r.client.Events().Delete(t.Context(), list.Items[0].Name, metav1.DeleteOptions{}))
		r.Eventf(web, corev1.EventTypeNormal, "Killing", "stopping")
		assert.Equal(t, []string{"web Normal Killing: stopping ×2"}, r.events())
	})
}

func TestAnEventIsTriedAgainAndWrittenOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(w http.ResponseWriter, req *http.Request, next http.Handler){
		"the server is busy": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"it took too long": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusRequestTimeout)
		},
		"the answer is lost": func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			next.ServeHTTP(nowhere{}, req)
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.Intercept(fault)
				r.Eventf(web, corev1.EventTypeNormal, "Killing", "stopping")
				time.Sleep(3 * time.Second)
				r.Intercept(nil)
				time.Sleep(time.Minute)
				assert.Equal(t, []string{"web Normal Killing: stopping ×1"}, r.events())
				r.Eventf(web, corev1.EventTypeNormal, "Killing", "stopping")
				assert.Equal(t, []string{"web Normal Killing: stopping ×2"}, r.events())
			})
		})
	}
}

// nowhere is where an answer goes that is lost.
type nowhere struct{}

func (nowhere) Header() http.Header            { return http.Header{} }
func (nowhere) Write(text []byte) (int, error) { return len(text), nil }
func (nowhere) WriteHeader(int)                {}

func TestAnEventThatIsRefusedIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var asked atomic.Int32
		r.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			asked.Add(1)
			w.WriteHeader(http.StatusForbidden)
		})
		r.Eventf(web, corev1.EventTypeNormal, "Killing", "stopping")
		time.Sleep(time.Minute)
		assert.EqualValues(t, 1, asked.Load())
	})
}

func TestAnEventThatCannotBeWrittenForLongIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.Stop()
		r.Eventf(web, corev1.EventTypeNormal, "Killing", "stopping")
		time.Sleep(time.Minute)
		r.Restart()
		r.Eventf(web, corev1.EventTypeNormal, "Started", "started")
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"web Normal Started: started ×1"}, r.events())
	})
}

// Who tells of events does not wait.
func TestEventsAreLostWhenAThousandWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t)
		for i := range 1500 {
			r.Eventf(pod(fmt.Sprint(i)), corev1.EventTypeNormal, "Killing", "stopping")
		}
		go r.Run(t.Context())
		assert.Len(t, r.events(), 1000)
		r.Eventf(web, corev1.EventTypeNormal, "Killing", "stopping")
		assert.Len(t, r.events(), 1001, "later ones are written")
	})
}
