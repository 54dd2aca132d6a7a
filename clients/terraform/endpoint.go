package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type endpointResource struct{ customers }

type endpointModel struct {
	ID          types.String `tfsdk:"id"`
	URL         types.String `tfsdk:"url"`
	Types       types.Set    `tfsdk:"types"`
	Description types.String `tfsdk:"description"`
	Secret      types.String `tfsdk:"secret"`
}

type shownEndpoint struct {
	ID          string   `json:"subscription_id"`
	URL         string   `json:"url"`
	Types       []string `json:"types"`
	Description string   `json:"description"`
	Secret      string   `json:"secret"`
}

func (*endpointResource) Metadata(
	_ context.Context, _ resource.MetadataRequest, answer *resource.MetadataResponse,
) {
	answer.TypeName = "leyden_webhook_endpoint"
}

func (*endpointResource) Schema(
	_ context.Context, _ resource.SchemaRequest, answer *resource.SchemaResponse,
) {
	kept := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	every := types.SetValueMust(types.StringType, []attr.Value{types.StringValue("*")})
	answer.Schema = schema.Schema{
		Description: "A URL that gets the events of your organization.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed: true, PlanModifiers: kept, Description: "The endpoint's id."},
			"url": schema.StringAttribute{
				Required: true, Description: "The URL that events are sent to."},
			"types": schema.SetAttribute{
				Optional: true, Computed: true, ElementType: types.StringType,
				Default: setdefault.StaticValue(every),
				Description: "Types of events, like `order.paid` or `order.*`. " +
					"Default: all."},
			"description": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(""),
				Description: "Your description of it."},
			"secret": schema.StringAttribute{
				Computed: true, Sensitive: true, PlanModifiers: kept,
				Description: "The secret that events are signed with. It is in " +
					"Terraform's state; empty for an imported endpoint."},
		},
	}
}

func (m endpointModel) body(ctx context.Context) map[string]any {
	chosen := []string{}
	m.Types.ElementsAs(ctx, &chosen, false)
	return map[string]any{
		"url": m.URL.ValueString(), "types": chosen,
		"description": m.Description.ValueString(),
	}
}

func (r *endpointResource) Create(
	ctx context.Context, request resource.CreateRequest, answer *resource.CreateResponse,
) {
	var model endpointModel
	answer.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	var made shownEndpoint
	if err := r.customer.create(ctx, "/subscriptions", model.body(ctx), &made); err != nil {
		answer.Diagnostics.AddError("The endpoint was not created", err.Error())
		return
	}
	model.ID, model.Secret = types.StringValue(made.ID), types.StringValue(made.Secret)
	answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
}

func (r *endpointResource) Read(
	ctx context.Context, request resource.ReadRequest, answer *resource.ReadResponse,
) {
	var model endpointModel
	answer.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	var shown shownEndpoint
	err := r.customer.call(ctx, "GET", "/subscriptions/"+model.ID.ValueString(), nil, &shown)
	if isMissing(err) {
		answer.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		answer.Diagnostics.AddError("The endpoint is not known", err.Error())
		return
	}
	chosen, found := types.SetValueFrom(ctx, types.StringType, shown.Types)
	answer.Diagnostics.Append(found...)
	model.URL, model.Types = types.StringValue(shown.URL), chosen
	model.Description = types.StringValue(shown.Description)
	if model.Secret.IsNull() { // imported
		model.Secret = types.StringValue("")
	}
	answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
}

func (r *endpointResource) Update(
	ctx context.Context, request resource.UpdateRequest, answer *resource.UpdateResponse,
) {
	var model endpointModel
	answer.Diagnostics.Append(request.Plan.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	err := r.customer.call(
		ctx, "POST", "/subscriptions/"+model.ID.ValueString(), model.body(ctx), nil)
	if err != nil {
		answer.Diagnostics.AddError("The endpoint was not changed", err.Error())
		return
	}
	answer.Diagnostics.Append(answer.State.Set(ctx, &model)...)
}

func (r *endpointResource) Delete(
	ctx context.Context, request resource.DeleteRequest, answer *resource.DeleteResponse,
) {
	var model endpointModel
	answer.Diagnostics.Append(request.State.Get(ctx, &model)...)
	if answer.Diagnostics.HasError() {
		return
	}
	err := r.customer.call(ctx, "DELETE", "/subscriptions/"+model.ID.ValueString(), nil, nil)
	if err != nil && !isMissing(err) {
		answer.Diagnostics.AddError("The endpoint was not deleted", err.Error())
	}
}

func (*endpointResource) ImportState(
	ctx context.Context, request resource.ImportStateRequest, answer *resource.ImportStateResponse,
) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), request, answer)
}
