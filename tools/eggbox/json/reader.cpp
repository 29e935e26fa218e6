// SPDX-License-Identifier: MIT
#include "json/reader.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <cmath>

#include <fmt/format.h>

namespace tool
{

void json_place::refuse(const std::string& why) const
{
    throw failure(fmt::format("{}: {}{}{}", file_, place_, place_.empty() ? "" : " ", why));
}

bool json_place::has(const char* name) const
{
    return value_->is_object() && value_->contains(name);
}

void json_place::require_object() const
{
    if (!value_->is_object()) {
        refuse("should be an object");
    }
}

json_place json_place::member(const char* name) const
{
    require_object();
    const auto found = value_->find(name);
    if (found == value_->end()) {
        refuse(fmt::format("has no \"{}\"", name));
    }
    return {*found, file_, place_ + (place_.empty() ? "" : ".") + name};
}

json_elements json_place::elements() const
{
    if (!value_->is_array()) {
        refuse("should be an array");
    }
    return json_elements{*this};
}

json_place json_elements::iterator::operator*() const
{
    const json_place& list = *list_;
    return {(*list.value_)[index_], list.file_, fmt::format("{}[{}]", list.place_, index_)};
}

std::string json_place::text() const
{
    if (!value_->is_string()) {
        refuse("should be a string");
    }
    return value_->get<std::string>();
}

std::uint64_t json_place::count() const
{
    if (!value_->is_number_unsigned()) {
        refuse("should be a whole number, 0 or more");
    }
    return value_->get<std::uint64_t>();
}

std::int64_t json_place::whole() const
{
    if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX) {
        refuse("is too large");
    }
    if (!value_->is_number_integer()) {
        refuse("should be a whole number");
    }
    return value_->get<std::int64_t>();
}

double json_place::number() const
{
    if (!value_->is_number()) {
        refuse("should be a number");
    }
    const double number = value_->get<double>();
    if (!std::isfinite(number) || number < 0) {
        refuse("should be a number, 0 or more");
    }
    return number;
}

bool json_place::truth() const
{
    if (!value_->is_boolean()) {
        refuse("should be true or false");
    }
    return value_->get<bool>();
}

void require_kind(const json_place& top, const char* kind)
{
    const std::string found = top.member("kind").text();
    if (found != kind) {
        top.refuse(fmt::format("is of kind \"{}\", not \"{}\"", shown(found), kind));
    }
    const std::uint64_t number = top.member("schema").count();
    if (number != schema) {
        top.refuse(fmt::format("has schema {}; this eggbox knows {}", number, schema));
    }
}

}  // namespace tool
