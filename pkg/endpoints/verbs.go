package endpoints

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/endpoints/query"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

func (r *call) get() error {
	if text, ok := r.Resource.Storage.(rest.Streamer); ok {
		return r.stream(text)
	}
	storage, err := storageAs[rest.Getter](r)
	if err != nil {
		return err
	}
	answer, err := storage.Get(r.Context(), r.key())
	return r.Object(http.StatusOK, answer, err)
}

func (r *call) list() error {
	storage, err := storageAs[rest.Lister](r)
	if err != nil {
		return err
	}
	options, err := query.ListOptions(r.URL.Query())
	if err != nil {
		return err
	}
	return r.List(storage.List(r.Context(), r.info.Namespace, options))
}

func (r *call) create() error {
	storage, err := storageAs[rest.Creater](r)
	if err != nil || (r.info.Name != "" && r.info.Subresource == "") || (r.Resource.Namespaced && r.info.Namespace == "") {
		return notAllowed()
	}
	options, err := query.CreateOptions(r.URL.Query())
	if err != nil {
		return err
	}
	object := storage.New()
	if err := r.decoder().Object(object); err != nil {
		return err
	}
	r.dropDuplicateOwners(object, asSent)
	dryRun, answer := len(options.DryRun) > 0, rest.Answer(nil)
	err = r.admit(admission.Create, dryRun, &options, func(admission rest.Admission) error {
		answer, err = storage.Create(r.Context(), r.key(), object, rest.WriteOptions{DryRun: dryRun, Admission: admission, Warn: r.Warn, Manager: r.manager(options.FieldManager)})
		return err
	})
	return r.Object(http.StatusCreated, answer, err)
}

func (r *call) update() error {
	storage, err := storageAs[rest.Updater](r)
	if err != nil || r.info.Name == "" {
		return notAllowed()
	}
	options, err := query.UpdateOptions(r.URL.Query())
	if err != nil {
		return err
	}
	object := storage.New()
	if err := r.decoder().Object(object); err != nil {
		return err
	}
	if err := r.agreeOnName(object); err != nil {
		return err
	}
	r.dropDuplicateOwners(object, asSent)
	return r.change(storage, len(options.DryRun) > 0, &options, r.manager(options.FieldManager), func(rest.Object) (rest.Object, error) {
		return object.DeepCopyObject().(rest.Object), nil
	})
}

// change answers with the object that results when a manager changes it. Without a manager the change is an applied configuration,
// which may create the object.
func (r *call) change(storage rest.Updater, dryRun bool, options runtime.Object, manager *string, change rest.Change) error {
	permitted := func(current rest.Object) (rest.Object, error) {
		object, err := change(current)
		if authorize := request.RecordOf(r.Context()).Authorize; err == nil && current == nil && authorize != nil {
			err = rest.StatusError(authorize("create"), r.Resource.GroupResource(), r.info.Name)
		}
		return object, err
	}
	status, answer := http.StatusOK, rest.Answer(nil)
	err := r.admit(admission.Update, dryRun, options, func(admission rest.Admission) error {
		var created bool
		var err error
		answer, created, err = storage.Update(r.Context(), r.key(), permitted,
			rest.WriteOptions{DryRun: dryRun, Admission: admission, Warn: r.Warn, Manager: manager, ForceCreate: manager == nil && r.info.Subresource == ""})
		if created {
			status = http.StatusCreated
		}
		return err
	})
	return r.Object(status, answer, err)
}

// agreeOnName refuses an object whose name or namespace differs from the path's. An object without a
// namespace gets that of the path. If the path has none, the namespace of the object is ignored.
func (r *call) agreeOnName(object rest.Object) error {
	if r.info.Namespace != "" {
		if err := rest.CheckNamespace(object, r.info.Namespace); err != nil {
			return err
		}
		object.SetNamespace(r.info.Namespace)
	}
	switch name := object.GetName(); {
	case name == "":
		return apierrors.NewBadRequest("the name of the object (" + r.info.Name + " based on URL) was undeterminable: name must be provided")
	case name != r.info.Name:
		return apierrors.NewBadRequest("the name of the object (" + name + ") does not match the name on the URL (" + r.info.Name + ")")
	}
	return nil
}

func (r *call) delete() error {
	storage, err := storageAs[rest.Deleter](r)
	if err != nil {
		return err
	}
	options, err := r.decoder().DeleteOptions()
	if err != nil {
		return err
	}
	var answer rest.Answer
	err = r.admit(admission.Delete, len(options.DryRun) > 0, &options, func(admission rest.Admission) error {
		answer, err = storage.Delete(r.Context(), r.key(), rest.DeleteOptions{DeleteOptions: options, Admission: admission})
		return err
	})
	return r.Object(http.StatusOK, answer, err)
}

func (r *call) deleteCollection() error {
	storage, err := storageAs[rest.CollectionDeleter](r)
	if err != nil || (r.Resource.Namespaced && r.info.Namespace == "") {
		return notAllowed()
	}
	listed, err := query.ListOptions(r.URL.Query())
	if err != nil {
		return err
	}
	options, err := r.decoder().DeleteOptions()
	if err != nil {
		return err
	}
	var list *rest.List
	err = r.admit(admission.Delete, len(options.DryRun) > 0, &options, func(admission rest.Admission) error {
		list, err = storage.DeleteCollection(r.Context(), r.info.Namespace, listed, rest.DeleteOptions{DeleteOptions: options, Admission: admission})
		return err
	})
	return r.List(list, err)
}

// admit makes a change with the admission plugins, and reports the outcome to them.
func (r *call) admit(operation admission.Operation, dryRun bool, options runtime.Object, change func(rest.Admission) error) error {
	if r.server.Admission == nil {
		return change(nil)
	}
	begun := r.server.Admission.Begin(r.Context(), admission.Attributes{
		Operation: operation, Kind: r.Resource.Kind,
		Resource:    schema.GroupVersionResource{Group: r.info.APIGroup, Version: r.info.APIVersion, Resource: r.info.Resource},
		Subresource: r.info.Subresource, Namespace: r.info.Namespace, Name: r.info.Name,
		User: request.UserFrom(r.Context()), DryRun: dryRun, Options: options,
	})
	begun.Warn = r.Warn
	begun.Annotate = request.ObserverFrom(r.Context()).Annotate
	err := change(begun)
	begun.End(err)
	return err
}
