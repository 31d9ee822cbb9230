import { reasonToDecline } from '../cases/declined.ts'
import { byVersion, countResults, remarkOn, type WayResults } from './table.ts'

/** docs/reference/kmip-conformance.md: numbers by version and way, then every case by name. */
export function conformancePage(ways: readonly WayResults[]): string {
  const rows = ways.flatMap(({ way, results }) =>
    byVersion(results).map(([version, some]) => {
      const { passed, failed, skipped } = countResults(some)
      return `| ${version} | ${wayNames[way]} | ${some.length} | ${passed} | ${failed} | ${skipped} |`
    }),
  )
  return `# KMIP conformance

The public OASIS profile test cases, each run against a live server and compared strictly: status, reason, message
(word by word), every value. Only what KMIP Profiles §4.1 ("Permitted Test Case Variations") lets a server choose may
differ. KMIP 3.0 is a draft, served with \`kmip_draft_3_0\`. Written by \`npm run conformance -- --write\`; \`npm run conformance -- FOLDER\` runs any other folder of cases.

| version | encoding | cases | passed | failed | skipped |
|---|---|---|---|---|---|
${rows.join('\n')}

${cases(ways).join('\n')}
`
}

const wayNames = {
  socket: 'binary, KMIP socket',
  'https-ttlv': 'binary, HTTPS',
  'https-json': 'JSON, HTTPS',
  'https-xml': 'XML, HTTPS',
} as const

function cases(ways: readonly WayResults[]): readonly string[] {
  const names = ways.map(({ way }) => wayNames[way])
  const lines = [`| case | ${names.join(' | ')} | remark |`, `|---|${names.map(() => '---|').join('')}---|`]
  for (const [index, { testCase }] of (ways[0]?.results ?? []).entries()) {
    const results = ways.flatMap(({ results: of }) => of[index] ?? [])
    const remark = reasonToDecline(testCase) ?? results.map(remarkOn).find((text) => text !== undefined) ?? ''
    const outcomes = results.map(({ outcome }) => outcome).join(' | ')
    lines.push(`| ${testCase.name} | ${outcomes} | ${remark.replaceAll('|', '\\|')} |`)
  }
  return lines
}
