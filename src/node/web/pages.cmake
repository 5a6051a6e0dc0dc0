# Sets node_page_assets to the generated source that defines page_assets.h: web/node/ bundled.
set(pages ${CMAKE_SOURCE_DIR}/web/node)
set(pages_sources
  ${pages}/src/app.tsx
  ${pages}/src/base/api.ts
  ${pages}/src/base/csv.ts
  ${pages}/src/base/live.ts
  ${pages}/src/base/plan.ts
  ${pages}/src/base/roles.ts
  ${pages}/src/base/router.ts
  ${pages}/src/base/session.ts
  ${pages}/src/base/text.ts
  ${pages}/src/base/types.ts
  ${pages}/src/main.tsx
  ${pages}/src/pages/accounts.tsx
  ${pages}/src/pages/audit.tsx
  ${pages}/src/pages/decide.tsx
  ${pages}/src/pages/inbox.tsx
  ${pages}/src/pages/login.tsx
  ${pages}/src/pages/new_study.tsx
  ${pages}/src/pages/node.tsx
  ${pages}/src/pages/pairing.tsx
  ${pages}/src/pages/parties.tsx
  ${pages}/src/pages/policies.tsx
  ${pages}/src/pages/setup.tsx
  ${pages}/src/pages/studies.tsx
  ${pages}/src/pages/study.tsx
  ${pages}/src/pages/tables.tsx
  ${pages}/src/parts/closed.tsx
  ${pages}/src/parts/command.tsx
  ${pages}/src/parts/form.tsx
  ${pages}/src/parts/frame.tsx
  ${pages}/src/parts/page.tsx
  ${pages}/src/parts/plan.tsx
  ${pages}/src/parts/policy_draft.tsx
  ${pages}/src/parts/sign.tsx
  ${pages}/src/parts/study_card.tsx
  ${pages}/src/parts/study_words.tsx
  ${pages}/src/parts/words.tsx
  ${pages}/src/style/all.css
  ${pages}/src/style/base.css
  ${pages}/src/style/parts.css
  ${pages}/src/style/print.css)
set(pages_packages ${CMAKE_SOURCE_DIR}/web/node_modules/.package-lock.json)
if(NOT EXISTS ${pages_packages})
  set(pages_packages)
endif()
set(node_page_assets ${CMAKE_CURRENT_BINARY_DIR}/page_assets.cc)
add_custom_command(
  OUTPUT ${node_page_assets}
  COMMAND ${PARTITA_NODE} ${pages}/build.mjs ${node_page_assets}
  DEPENDS ${pages}/build.mjs ${CMAKE_SOURCE_DIR}/web/bundle.mjs ${CMAKE_SOURCE_DIR}/web/package.json
          ${CMAKE_SOURCE_DIR}/web/package-lock.json ${pages_sources} ${pages_packages}
  COMMENT "Bundling web/node/"
  VERBATIM)
