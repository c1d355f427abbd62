#pragma once

/// The operations of a program, by their places in its source, and the mutation of one of them.

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "checker.hpp"

namespace syncfree::model {

class Sites {
public:
  void start_search(const Mutation& mutation)
  {
    mutation_ = mutation;
    sites_.clear();
  }

  /// Returns the number of the operation, and weakens its order if that is the mutation.
  int note(const Caller& caller, const char* operation, Order* order)
  {
    const Order stated = order ? *order : relaxed;
    std::size_t s = 0;
    while (s < sites_.size() && !is(sites_[s], caller, operation, stated)) ++s;
    if (s == sites_.size()) {
      std::string name = std::string(caller.function) + " " + operation;
      if (order) name += std::string(" ") + name_of(stated);
      names_.push_back(caller.function);
      sites_.push_back({names_.back().c_str(), caller.line, operation, stated, order != nullptr, name});
    }
    if (order && !mutation_.drop && sites_[s].name == mutation_.name) *order = mutation_.order;
    return static_cast<int>(s);
  }
  bool drops(int site) const { return mutation_.drop && sites_[site].name == mutation_.name; }
  bool drops_something() const { return mutation_.drop; }

  const std::string& name(int site) const { return sites_[site].name; }
  std::vector<Site> take() { return std::move(sites_); }

private:
  static bool is(const Site& site, const Caller& caller, const char* operation, Order order)
  {
    return site.line == caller.line && site.order == order && std::string(operation) == site.operation &&
           std::string(caller.function) == site.function;
  }

  Mutation mutation_;
  std::vector<Site> sites_;
  std::deque<std::string> names_;  ///< of functions; kept for ever, the results refer to them
};

}  // namespace syncfree::model
