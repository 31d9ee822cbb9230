import type { ChallengeType } from './identifiers.ts'
import { createProblem, type Problem } from './problem.ts'

/** A record as `node:dns` reads it: the flag, and the property under its own name. */
export type CaaRecord = Readonly<Record<string, unknown>> & { readonly critical: number }

export interface CaaQuestion {
  /** Names of this authority in records (`caa_identities` of the directory), in lower case. */
  readonly identities: readonly string[]
  /** The DNS name of the order, `*.` before it for a wildcard. */
  readonly name: string
  /** The validation method; undefined: not known. */
  readonly challenge: ChallengeType | undefined
  /** Address of the account. */
  readonly account: string
}

/** Resolves the CAA records of a name. @throws with a `code` of `node:dns` */
export type ResolveCaa = (name: string) => Promise<readonly CaaRecord[]>

const understood: ReadonlySet<string> = new Set(['critical', 'issue', 'issuewild', 'iodef'])
const nothingThere: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND'])

/**
 * Checks whether the CAA records of a name, or of its closest parent with such records, permit this authority to issue
 * (RFC 8659 §3, §4; RFC 8657). A failed lookup forbids issuance.
 * @returns the problem; undefined: issuance is permitted
 */
export async function checkCaa(question: CaaQuestion, resolve: ResolveCaa): Promise<Problem | undefined> {
  const isWildcard = question.name.startsWith('*.')
  const labels = question.name.replace(/^\*\./, '').toLowerCase().split('.')
  for (let from = 0; from < labels.length; from += 1) {
    const at = labels.slice(from).join('.')
    let records: readonly CaaRecord[]
    try {
      records = await resolve(at)
    } catch (error) {
      if (nothingThere.has((error as { code?: unknown }).code)) continue
      return createProblem('caa', `The CAA records of ${at} cannot be looked up.`)
    }
    if (records.length === 0) continue
    if (permit(records, question, isWildcard)) return undefined
    return createProblem(
      'caa',
      `The CAA records of ${at} do not permit this authority to issue for ${question.name}.`,
    )
  }
  return undefined
}

function permit(records: readonly CaaRecord[], question: CaaQuestion, isWildcard: boolean): boolean {
  const isForbidding = (record: CaaRecord) =>
    record.critical !== 0 && Object.keys(record).some((property) => !understood.has(property))
  if (records.some(isForbidding)) return false
  const of = (property: string) =>
    records.flatMap((record) => (typeof record[property] === 'string' ? [record[property]] : []))
  const wild = of('issuewild')
  const values = isWildcard && wild.length > 0 ? wild : of('issue')
  return values.length === 0 || values.some((value) => names(value, question))
}

/** `domain; name=value; …`: the domain names this authority and the parameters match. */
function names(value: string, { identities, account, challenge }: CaaQuestion): boolean {
  const [domain = '', ...parameters] = value.split(';').map((part) => part.trim())
  if (!identities.includes(domain.toLowerCase().replace(/\.$/, ''))) return false
  return parameters.every((parameter) => {
    const [, name = '', given = ''] = /^([A-Za-z0-9]+)\s*=\s*(\S*)$/.exec(parameter) ?? []
    switch (name.toLowerCase()) {
      case 'accounturi':
        return given === account
      case 'validationmethods':
        return challenge !== undefined && given.split(',').includes(challenge)
      default:
        return parameter === '' || name !== ''
    }
  })
}
