package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/server/request"
)

// podLog implements GET pods/NAME/log.
type podLog struct {
	Network
	pods rest.Getter
}

func (l podLog) Stream(ctx context.Context, key rest.Key, query url.Values) (io.ReadCloser, error) {
	if errs := validateLogOptions(query); len(errs) > 0 {
		return nil, rest.Invalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), key.Name, errs)
	}
	pod, err := genericregistry.ObjectIn[*corev1.Pod](l.pods.Get(ctx, key))
	if err != nil {
		return nil, err
	}
	container, err := containerOf(pod, query.Get("container"))
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		return http.NoBody, nil
	}
	host, port, err := l.kubelet(pod.Spec.NodeName, corev1.Resource("pods"))
	if err != nil {
		return nil, err
	}
	if port == 0 || l.Kubelets == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("container %q in pod %q is waiting to start: no kubelet has started it", container, pod.Name))
	}
	log, err := l.Kubelets.ContainerLogs(ctx, host, port, pod.Namespace, pod.Name, container, forKubelet(query))
	var refused KubeletError
	switch {
	case err == nil:
		return log, nil
	case !errors.As(err, &refused):
		return nil, apierrors.NewServiceUnavailable(err.Error())
	case refused.Code() == http.StatusBadRequest:
		return nil, apierrors.NewBadRequest(refused.Error())
	}
	return nil, apierrors.NewGenericServerResponse(refused.Code(), "", schema.GroupResource{Resource: "pods/log"}, key.Name, refused.Error(), 0, false)
}

// logNumbers are the numeric options of a log, with their minimum.
var logNumbers = map[string]int64{"sinceSeconds": 1, "tailLines": 0, "limitBytes": 1}

// validateLogOptions returns all errors of the options of a log.
func validateLogOptions(query url.Values) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(logNumbers)) {
		text, least := query.Get(name), logNumbers[name]
		if text == "" {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(field.NewPath(name), text, "must be a number"))
		case number < least && least == 0:
			errs = append(errs, field.Invalid(field.NewPath(name), number, "must be greater than or equal to 0"))
		case number < least:
			errs = append(errs, field.Invalid(field.NewPath(name), number, "must be greater than 0"))
		}
	}
	if since := query.Get("sinceTime"); since != "" {
		if _, err := time.Parse(time.RFC3339, since); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("sinceTime"), since, "must be a time like 2014-06-06T12:00:00Z"))
		}
		if query.Get("sinceSeconds") != "" {
			errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
		}
	}
	return errs
}

// logSwitches are the boolean options of a log.
var logSwitches = []string{"follow", "previous", "timestamps"}

// forKubelet returns the options for a kubelet. As in today's server, a true switch has the value true.
func forKubelet(query url.Values) url.Values {
	own := url.Values{}
	for name, values := range query {
		_, isNumber := logNumbers[name]
		switch {
		case isNumber, name == "sinceTime":
			own[name] = values
		case slices.Contains(logSwitches, name) && request.IsOn(values):
			own.Set(name, "true")
		}
	}
	return own
}
