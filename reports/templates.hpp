// reports/templates.hpp: the files of page/, which the build puts into the program (templates.cc.in).
#pragma once

namespace assay::templates {

extern const char* const page_html;
extern const char* const page_css;
extern const char* const summary_md;

}  // namespace assay::templates
