// Capture, events and graphs of the host model.
#include <algorithm>
#include <set>
#include <utility>

#include "harness/device/host/host_model.hpp"

namespace assay::host {

void Graph::reach(std::uint32_t node, std::vector<bool>& reached) const {
  std::vector<std::uint32_t> open{node};
  while (!open.empty()) {
    const std::uint32_t next = open.back();
    open.pop_back();
    if (reached[next]) continue;
    reached[next] = true;
    open.insert(open.end(), nodes[next].needs.begin(), nodes[next].needs.end());
  }
}

std::vector<std::uint32_t> Graph::order(bool side_first) const {
  std::vector<std::vector<std::uint32_t>> followers(nodes.size());
  std::vector<std::size_t> missing(nodes.size());
  std::set<std::pair<bool, std::uint32_t>> ready;  // ordered: who goes first, then as recorded
  const auto enter = [&](std::uint32_t node) { ready.emplace(nodes[node].side != side_first, node); };
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    missing[node] = nodes[node].needs.size();
    for (const std::uint32_t need : nodes[node].needs) followers[need].push_back(node);
    if (missing[node] == 0) enter(node);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t node = ready.extract(ready.begin()).value().second;
    order.push_back(node);
    for (const std::uint32_t follower : followers[node]) {
      if (--missing[follower] == 0) enter(follower);
    }
  }
  return order;
}

void Model::add_node(Stream& stream, Work work) {
  Capture& capture = *stream.capture;
  Frontier& frontier = capture.members.at(&stream);
  const auto index = static_cast<std::uint32_t>(capture.graph.nodes.size());
  capture.graph.nodes.push_back({std::move(work), frontier, &stream != capture.origin});
  frontier = {index};
}

void Model::record(Lock& lock, Stream* stream, Event& event) {
  event = Event{};
  if (stream != nullptr && stream->capture != nullptr) {
    event.capture = stream->capture;
    event.frontier = stream->capture->members.at(stream);
    return;
  }
  event.mark = std::make_shared<Mark>();
  event.mark->stream = stream;
  if (stream == nullptr) {
    event.mark->done = true;  // the legacy stream runs at once
  } else {
    enqueue(lock, *stream, {Record{event.mark}, {}});
  }
}

Outcome Model::wait(Lock& lock, Stream* stream, const Event& event) {
  const auto invalidate = [&](const char* why) {
    if (event.capture != nullptr && !event.capture->ended) event.capture->illegal = why;
    if (stream != nullptr && stream->capture != nullptr) stream->capture->illegal = why;
    return Outcome{StepCode::capture_illegal, why};
  };
  if (event.capture != nullptr) {
    const bool capturing = stream != nullptr && stream->capture != nullptr;
    if (event.capture->ended) {
      if (capturing) return invalidate("waited in a capture for an event that an earlier capture recorded");
      return {StepCode::launch_invalid, "waited for an event that was last recorded in a capture"};
    }
    if (stream == nullptr) return invalidate("the legacy stream waited for an event recorded in a capture");
    if (capturing && stream->capture != event.capture) return invalidate("one capture waited for another's event");
    stream->capture = event.capture;
    Frontier& frontier = stream->capture->members[stream];
    for (const std::uint32_t node : event.frontier) {
      if (std::find(frontier.begin(), frontier.end(), node) == frontier.end()) frontier.push_back(node);
    }
    return {};
  }
  if (event.mark == nullptr) return {};  // never recorded: nothing to wait for, as in CUDA
  if (stream == nullptr) {
    const std::shared_ptr<Mark> mark = event.mark;
    if (mark->done || (mark->stream != nullptr && demand(lock, *mark->stream, mark.get()))) return {};
    return {StepCode::synchronised_held, "the legacy stream waited for a held stream"};
  }
  if (stream->capture != nullptr) return invalidate("waited in a capture for an event recorded outside it");
  enqueue(lock, *stream, {Wait{event.mark}, {}});
  return {};
}

// Allocation and synchronisation are errors in capture: in a global one for every thread, in the others for the thread
// that began it and on its streams. A relaxed capture gives no further licence here, where CUDA would.
bool Model::illegal_in_capture(const char* what, const Stream* stream) {
  bool illegal = false;
  for (const auto& capture : captures_) {
    const bool member = stream != nullptr && stream->capture == capture;
    if (capture->mode != CaptureMode::global && capture->thread != std::this_thread::get_id() && !member) continue;
    capture->illegal = std::string("called ") + what + " during the capture";
    illegal = true;
  }
  return illegal;
}

// Frees the streams, and returns what was captured.
Graph Model::close_capture(const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  for (const auto& [stream, frontier] : capture->members) stream->capture = nullptr;
  capture->members.clear();
  std::erase(captures_, capture);
  return std::exchange(capture->graph, {});
}

Outcome Model::begin_capture(std::uint32_t index, CaptureMode mode) {
  const Lock lock(mutex_);
  Stream* stream = program_stream(index);
  if (stream->capture != nullptr) return {StepCode::infrastructure, "the stream is in a capture already"};
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->members[stream];
  captures_.push_back(capture);
  stream->capture = capture;
  return {};
}

Outcome Model::end_capture(std::uint32_t stream_index, std::uint32_t graph_index, GraphInventory& inventory) {
  const Lock lock(mutex_);
  inventory = {};
  Stream* stream = program_stream(stream_index);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr || capture->origin != stream) {
    return {StepCode::infrastructure, "no capture began on this stream"};
  }
  const std::vector<Node>& nodes = capture->graph.nodes;
  inventory.nodes = static_cast<std::uint32_t>(nodes.size());
  for (const Node& node : nodes)
    ++(std::holds_alternative<KernelLaunch>(node.work) ? inventory.kernels : inventory.copies);

  std::vector<bool> joined(nodes.size());
  for (const std::uint32_t node : capture->members.at(stream)) capture->graph.reach(node, joined);
  std::size_t unjoined = 0;
  for (const auto& [member, frontier] : capture->members) {
    if (!std::all_of(frontier.begin(), frontier.end(), [&](std::uint32_t node) { return joined[node]; })) ++unjoined;
  }
  Graph graph = close_capture(capture);
  graphs_.erase(graph_index);
  if (!capture->illegal.empty()) return {StepCode::capture_illegal, capture->illegal};
  if (unjoined != 0) {
    return {StepCode::capture_unjoined, std::to_string(unjoined) + " side stream(s) were not joined back"};
  }
  if (graph.nodes.empty()) return {StepCode::capture_empty, "nothing was captured"};
  graphs_[graph_index] = std::make_shared<const Graph>(std::move(graph));
  return {};
}

Outcome Model::launch(std::uint32_t graph_index, std::uint32_t stream_index) {
  Lock lock(mutex_);
  const auto graph = graphs_.find(graph_index);
  if (graph == graphs_.end()) return {StepCode::infrastructure, "no such graph"};
  Stream* stream = program_stream(stream_index);
  if (stream->capture != nullptr) return {StepCode::unsupported, "a graph inside a capture"};
  const BlockOrder order = next_order(graph->second->nodes.size());
  enqueue(lock, *stream, {GraphLaunch{graph->second, graph->second->order(schedule_.early)}, order});
  return {};
}

Outcome Model::drop_graph(std::uint32_t graph) {
  const Lock lock(mutex_);
  if (graphs_.erase(graph) == 0) return {StepCode::infrastructure, "no such graph"};
  return {};
}

}  // namespace assay::host
