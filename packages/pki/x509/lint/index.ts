/** What is wrong with a certificate, each finding with the clause of the standard. */
export type { Rule, Severity } from './facts.ts'
export { type Finding, lintCertificate, lintRules, lintWritten } from './lint.ts'
