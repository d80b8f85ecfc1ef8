// reports/render.hpp: a Mustache template and data to text, by the library kainjow/mustache.
//
// Promises: every {{value}} is escaped for its markup; control characters and what turns or hides text become visible
// (lines.hpp), so no candidate's text can add an element, a link or a line. Only {{&value}} is left as it is: the
// templates use it for our own style sheet alone. Empty texts, empty lists and false skip their section.
// Who calls it: page.cc.
//
//   rendered("<b>{{name}}</b>", {{"name", "<i>"}}, Markup::html);   // "<b>&lt;i&gt;</b>"
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace assay {

enum class Markup { html, markdown };

// False: this build found no template library; rendered() then throws std::logic_error.
[[nodiscard]] bool can_render() noexcept;

// Objects, lists, texts, integers and booleans. Throws std::logic_error for a template that is none.
[[nodiscard]] std::string rendered(const std::string& text, const nlohmann::json& data, Markup);

}  // namespace assay
