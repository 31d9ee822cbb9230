import type { KmsClient } from '@warder/client'
import { UsageError } from '../cli/command.ts'
import { onlyName, requireNoNames } from '../cli/options.ts'
import { printable, tableLines } from '../cli/table.ts'
import { readKid } from '../kms/key-word.ts'
import { aboutKey } from '../kms/refusal.ts'
import { type KmsVerb, kmsVerb } from '../kms/verb.ts'

const operations = ['destroy', 'export', 'grant'] as const
type Operation = (typeof operations)[number]

function isOperation(word: string | undefined): word is Operation {
  return operations.some((operation) => operation === word)
}

/** A request as one sentence. */
function sentenceOf(request: {
  readonly operation: string
  readonly key: string
  readonly requester: string
  readonly user_id?: string
  readonly operation_types?: readonly string[]
}): string {
  const { operation, key, requester, user_id, operation_types } = request
  const about =
    user_id === undefined ? '' : ` of ${(operation_types ?? []).join(', ')} to ${printable(user_id)}`
  return `${operation}${about}, key ${printable(key)}, asked for by ${printable(requester)}`
}

export const askVerb = kmsVerb({
  name: 'ask',
  words: 'destroy|export|grant KEY [USER RIGHT...]',
  summary: 'asks the officers to approve an operation on one of your keys',
  about: `For operations that [approvals] in kms.toml names. A destruction and a grant happen with the last approval; an approved
export is yours once: Get or Export over KMIP.`,
  examples: ['warder officers ask destroy KEY', 'warder officers ask grant KEY bob get'],
  options: {},
  parse(_, [operation, key, user, ...rights]) {
    if (!isOperation(operation) || key === undefined)
      throw new UsageError('say what and on which key: warder officers ask destroy|export|grant KEY')
    const isGrant = operation === 'grant'
    if (isGrant !== (user !== undefined && rights.length > 0) || (!isGrant && user !== undefined))
      throw new UsageError(
        'a grant names a user and rights, nothing else does: warder officers ask grant KEY USER RIGHT...',
      )
    const kid = readKid(key)
    return async ({ kms, show }) => {
      const body = { operation, key: kid, ...(isGrant && { user_id: user, operation_types: rights }) }
      const request = await aboutKey('key', kid, () => kms.call('access.approvals.ask', { body }))
      show(request, [
        `request ${request.id}: ${request.needed} officers have to approve it until ${request.until}`,
        `next: each of them runs  warder officers approve ${request.id}`,
      ])
      return 0
    }
  },
})

const atATime = 100

export const requestsVerb = kmsVerb({
  name: 'requests',
  words: '',
  summary: 'lists requests for approval: yours, and as an officer those of everybody',
  about: 'Requests are listed for 30 days after their end; the audit log has them for ever.',
  examples: ['warder officers requests', 'warder officers requests --all'],
  options: { all: { type: 'flag', help: 'shows those that are over, too' } },
  parse({ all }, names) {
    requireNoNames(names)
    return async ({ kms, show, signal }) => {
      const found = []
      for (let after = ''; ; ) {
        signal.throwIfAborted()
        const page = await kms.call('access.approvals.list', { query: { after, limit: String(atATime) } })
        found.push(...page.filter(({ state }) => all || state === 'open' || state === 'approved'))
        const last = page.at(-1)
        if (page.length < atATime || last === undefined) break
        after = last.id
      }
      const rows = found.map((request) => [
        request.id,
        `${request.state} ${request.approved_by.length}/${request.needed}`,
        sentenceOf(request),
      ])
      show(found, tableLines(['REQUEST', 'STATE', 'WHAT'], rows, 'there is no such request'))
      return 0
    }
  },
})

async function decide(kms: KmsClient, verb: 'approve' | 'refuse', id: string, hash: string) {
  const body = { hash }
  return verb === 'approve'
    ? kms.call('access.approvals.approve', { path: { id }, body })
    : kms.call('access.approvals.refuse', { path: { id }, body })
}

function decisionVerb(verb: 'approve' | 'refuse', parts: Pick<KmsVerb, 'summary' | 'about'>): KmsVerb {
  return kmsVerb({
    name: verb,
    words: 'REQUEST',
    ...parts,
    examples: [`warder officers ${verb} REQUEST`],
    options: {},
    parse(_, names) {
      const id = onlyName(names, 'request')
      return async ({ kms, show, confirm }) => {
        const request = await kms.call('access.approvals.get', { path: { id } })
        await confirm(`${verb} this? ${sentenceOf(request)}`)
        // What was shown is what is decided about: a changed request has another hash.
        const after = await decide(kms, verb, id, request.hash)
        show(after, [
          `${after.state}: ${after.approved_by.length} of ${after.needed} approvals (${sentenceOf(after)})`,
        ])
        return 0
      }
    },
  })
}

export const approveVerb = decisionVerb('approve', {
  summary: 'approves a request, as an officer; the last approval carries it out',
  about: 'Shows what is asked for and asks once more (--yes answers). Nobody approves an own request.',
})

export const refuseVerb = decisionVerb('refuse', {
  summary: 'refuses a request, as an officer',
  about: 'The request is over as soon as too few officers are left to approve it.',
})

export const withdrawVerb = kmsVerb({
  name: 'withdraw',
  words: 'REQUEST',
  summary: 'withdraws a request of your own',
  about: '',
  examples: ['warder officers withdraw REQUEST'],
  options: {},
  parse(_, names) {
    const id = onlyName(names, 'request')
    return async ({ kms, show }) => {
      const request = await kms.call('access.approvals.withdraw', { path: { id } })
      show(request, [`withdrawn: ${sentenceOf(request)}`])
      return 0
    }
  },
})
