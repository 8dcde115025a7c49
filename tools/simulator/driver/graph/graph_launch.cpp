// Launches of executable graphs: every step becomes an operation in the stream, ordered by the
// graph's edges.
#include "graph/graph_launch.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/graph_memory.hpp"
#include "engine/mode.hpp"
#include "engine/stream.hpp"
#include "graph/graph_nodes.hpp"
#include "graph/graph_plan.hpp"
#include "interop/external.hpp"
#include "kernel/launch.hpp"

#include <set>
#include <string>

namespace sim {
namespace {

constexpr unsigned long long auto_free_flag = 1;

// --- execution of conditional nodes

constexpr std::uint64_t most_rounds = std::uint64_t(1) << 22; // a longer loop counts as endless

void run_plan(const Plan &plan, Stream &stream);

void run_condition(const Conditional &condition, const std::vector<std::shared_ptr<Plan>> &bodies,
                   Stream &stream) {
    enum { if_type, while_type, switch_type };
    const unsigned int value = condition.value;
    if (condition.type == if_type) {
        const std::size_t body = value != 0 ? 0 : 1;
        if (body < bodies.size()) {
            run_plan(*bodies[body], stream);
        }
    } else if (condition.type == switch_type) {
        if (value < bodies.size()) {
            run_plan(*bodies[value], stream);
        }
    } else {
        for (std::uint64_t round = 0; condition.value != 0; ++round) {
            if (round == most_rounds) {
                misuse("the condition of a while node stays true for " + std::to_string(round) +
                       " rounds");
                throw Fault{CUDA_ERROR_LAUNCH_TIMEOUT};
            }
            run_plan(*bodies.front(), stream);
        }
    }
}

// The stream of a step. Recorded: kernels and memsets run on the device of their own context,
// whichever stream the graph is launched in. A destroyed context is ignored.
Stream &stream_for(const NodeContent &content, Stream &launched) {
    Context *home = content.home;
    const bool elsewhere = home != nullptr && home != &context_of(launched) &&
                           Registry::get().find(home) == home && !home->destroyed &&
                           !owner_of(*home).destroyed && !owner_of(*home).ending;
    return elsewhere ? legacy_stream(*home) : launched;
}

// Runs a step of a conditional body, which must not wait.
void run_step(const Step &step, Stream &stream) {
    if (step.enabled && step.content.work.fault != CUDA_SUCCESS) {
        throw Fault{step.content.work.fault, true};
    }
    if (step.content.condition) {
        run_condition(*step.content.condition, step.plans, stream);
    } else if (!step.plans.empty()) {
        run_plan(*step.plans.front(), stream);
    } else if (step.enabled && step.content.work.run) {
        const Work work = step.content.work;
        Stream &own = stream_for(step.content, stream);
        const ContextScope scope(*own.context);
        work.run(own);
    }
}

void run_plan(const Plan &plan, Stream &stream) {
    const bool any = settings().mode == Mode::adversarial;
    const std::vector<std::size_t> order = any ? any_order(plan, draw) : plan.order;
    for (const std::size_t i : order) {
        run_step(plan.steps[i], stream);
    }
}

Work condition_work(const Step &step) {
    Work work;
    work.type = conditional_node;
    work.what = "conditional node";
    work.fault = step.content.work.fault;
    for (const auto &body : step.plans) {
        for_each_step(*body, [&](const Step &inner) {
            const auto &uses = inner.content.work.uses;
            work.uses.insert(work.uses.end(), uses.begin(), uses.end());
        });
    }
    work.run = [condition = step.content.condition, bodies = step.plans](Stream &stream) {
        run_condition(*condition, bodies, stream);
    };
    return work;
}

// --- enqueueing

Work empty_work(const char *what) {
    Work work;
    work.what = what;
    return work;
}

// One ticket that is done once all of them are done.
Ticket join(Stream &stream, std::vector<Ticket> tickets) {
    return tickets.size() == 1
               ? tickets.front()
               : enqueue(stream, empty_work("end of a child graph"), std::move(tickets), false);
}

// Returns the final operations of the plan, which have no successor.
std::vector<Ticket> enqueue_plan(Stream &stream, const Plan &plan,
                                 const std::vector<Ticket> &before) {
    std::vector<Ticket> tickets(plan.steps.size()), last;
    std::vector<bool> followed(plan.steps.size());
    for (const std::size_t i : plan.order) {
        const Step &step = plan.steps[i];
        std::vector<Ticket> after;
        for (const Step::Dependency &dependency : step.after) {
            after.push_back(tickets[dependency.step]);
            followed[dependency.step] = true;
        }
        if (after.empty()) {
            after = before;
        }
        if (step.content.condition) {
            tickets[i] = enqueue(stream, condition_work(step), std::move(after), false);
        } else if (!step.plans.empty()) {
            if (step.content.work.fault != CUDA_SUCCESS) { // planned for the captured call
                Work failing = empty_work("child graph node");
                failing.fault = step.content.work.fault;
                after = {enqueue(stream, std::move(failing), std::move(after), false)};
            }
            tickets[i] = join(stream, enqueue_plan(stream, *step.plans.front(), after));
        } else {
            tickets[i] = step.enabled ? enqueue(stream_for(step.content, stream), step.content.work,
                                                std::move(after), false)
                                      : enqueue(stream, empty_work("disabled node"),
                                                std::move(after), false);
        }
    }
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        if (!followed[i]) {
            last.push_back(tickets[i]);
        }
    }
    return last.empty() ? before : last;
}

// --- memory nodes, in the order of API calls

struct MemoryPlan {
    std::set<std::shared_ptr<GraphAllocation>> allocated, freed;
};

MemoryPlan memory_plan(const Plan &plan) {
    MemoryPlan memory;
    for_each_step(plan, [&](const Step &step) {
        if (step.type() == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
            memory.allocated.insert(step.content.allocation);
        } else if (step.type() == CU_GRAPH_NODE_TYPE_MEM_FREE) {
            memory.freed.insert(step.content.allocation);
        }
    });
    return memory;
}

// Returns the allocations that the launch must free before it begins. Fails before it changes
// anything.
std::vector<std::shared_ptr<GraphAllocation>> note_memory(const Plan &plan, const Exec &exec) {
    const bool auto_free = (exec.flags & auto_free_flag) != 0;
    const MemoryPlan memory = memory_plan(plan);
    std::vector<std::shared_ptr<GraphAllocation>> left;
    for (const auto &allocation : memory.allocated) {
        if (allocation->outstanding()) {
            if (!auto_free) {
                refuse(CUDA_ERROR_INVALID_VALUE,
                       "Attempting to launch a graph with unfreed allocation at address 0x%llx",
                       static_cast<unsigned long long>(allocation->address));
            }
            left.push_back(allocation);
        }
    }
    for (const auto &allocation : memory.freed) {
        require(memory.allocated.count(allocation) != 0 || allocation->outstanding());
    }
    for (const auto &allocation : memory.allocated) {
        allocation->reserve(exec.only.get());
        allocation->set_outstanding(memory.freed.count(allocation) == 0);
    }
    if (!memory.allocated.empty()) {
        note_graph_memory_use();
    }
    for (const auto &allocation : memory.freed) {
        allocation->set_outstanding(false);
    }
    return left;
}

// --- the whole launch

void collect_conditions(const Plan &plan, std::vector<Plan::Condition> &conditions) {
    conditions.insert(conditions.end(), plan.conditions.begin(), plan.conditions.end());
    for (const Step &step : plan.steps) {
        for (const auto &inner : step.plans) {
            collect_conditions(*inner, conditions);
        }
    }
}

Work begin_work(const Plan &plan, std::vector<std::shared_ptr<GraphAllocation>> left) {
    Work work = empty_work("start of a graph launch");
    std::vector<Plan::Condition> conditions;
    collect_conditions(plan, conditions);
    if (!conditions.empty() || !left.empty()) {
        work.run = [conditions, left](Stream &) {
            for (const Plan::Condition &each : conditions) {
                if (each.assign_default) {
                    each.condition->value = each.default_value;
                }
            }
            for (const auto &allocation : left) {
                allocation->end_use();
            }
        };
    }
    return work;
}

// Drops the launch's references to user objects, whose destructors may then run.
Work end_work(const std::shared_ptr<References> &references) {
    Work work = empty_work("end of a graph launch");
    if (!references->empty()) {
        auto share = std::make_shared<std::shared_ptr<References>>(references);
        work.run = [share](Stream &) {
            share->reset();
            run_user_destructors();
        };
        work.otherwise = [share](Stream &, CUresult) {
            share->reset();
            run_user_destructors();
        };
    }
    return work;
}

// Checks that the objects of all steps still exist.
void check_objects(const Plan &plan) {
    const auto check = [](const void *handle, const Step &step) {
        if (Registry::get().find(handle) == nullptr) {
            misuse(std::string("launch of a graph with a ") + step.content.work.what +
                   " whose object was destroyed");
            refuse(CUDA_ERROR_INVALID_VALUE);
        }
    };
    for_each_step(plan, [&](const Step &step) {
        const std::any &parameters = step.content.work.parameters;
        if (const auto *launch = std::any_cast<KernelLaunch>(&parameters)) {
            check(launch->function, step);
        } else if (const auto *signals = std::any_cast<SemaphoreSignals>(&parameters)) {
            for (const CUexternalSemaphore semaphore : signals->semaphores) {
                check(semaphore, step);
            }
        } else if (const auto *waits = std::any_cast<SemaphoreWaits>(&parameters)) {
            for (const CUexternalSemaphore semaphore : waits->semaphores) {
                check(semaphore, step);
            }
        } else if (const auto *event = std::any_cast<CUevent>(&parameters)) {
            check(*event, step);
        }
    });
}

} // namespace

void launch_graph(Exec &exec, Stream &stream) {
    check_objects(*exec.plan);
    // Recorded: it cannot be captured, and it does not return 901 for an invalidated capture as
    // other work does.
    refuse_capturing(stream);
    refuse_implicit(stream);
    check_usable(*stream.context);
    const InUse in_use(stream);
    // Both may be replaced or destroyed while operations run.
    const std::shared_ptr<const Plan> plan = exec.plan;
    const std::shared_ptr<References> references = exec.references;
    const CUgraphExec handle = &exec;
    const Ticket begin = enqueue(stream, begin_work(*plan, note_memory(*plan, exec)), {exec.last});
    const Ticket end = enqueue(stream, end_work(references), enqueue_plan(stream, *plan, {begin}));
    if (Registry::get().find(handle) == handle) {
        exec.last = end;
    }
}

void upload_graph(Exec &exec, Stream &stream) {
    refuse_capturing(stream);
    check_usable(*stream.context);
    const CUgraphExec handle = &exec;
    const Ticket ticket = enqueue(stream, empty_work("graph upload"), {exec.last});
    if (Registry::get().find(handle) == handle) {
        exec.last = ticket;
    }
}

namespace driver {

EXPORT CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
    Exec &exec = exec_of(hGraphExec);
    launch_graph(exec, stream_of(hStream));
    run_user_destructors();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
    Exec &exec = exec_of(hGraphExec);
    upload_graph(exec, stream_of(hStream));
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
