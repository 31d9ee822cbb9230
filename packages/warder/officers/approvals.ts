import { StartupError } from '@warder/base'
import type { Reply } from '@warder/client'
import { formatTable, printable, requireNoNames, requireOneName, UsageError } from '@warder/command-line'
import { type KmsContext, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { configure } from '../installation/configuration.ts'

const onKeys = ['destroy', 'export', 'grant'] as const
const onStores = ['stop-store', 'start-store'] as const
const onAws = ['access-key'] as const
const onAll = ['activate', 'settings', 'root-key', 'restore'] as const
const operations = [...onKeys, ...onStores, ...onAws, ...onAll] as const
type Operation = (typeof operations)[number]

const readOperation = (word: string | undefined): Operation | undefined =>
  operations.find((operation) => operation === word)

/** Formats a request as one sentence. */
function formatRequest(request: Reply<'access.approvals.get'>): string {
  const { operation, key, requester, reason, user_id, operation_types, settings, restore } = request
  const by = `requested by ${printable(requester)}${reason === undefined ? '' : ` (${printable(reason)})`}`
  if (settings !== undefined) return `${formatSettings(settings)}, ${by}`
  if (operation === 'activate') return `make ${printable(key)} an active crypto officer`
  if (operation === 'root_key') return `a new root key, ${by}`
  if (restore !== undefined)
    return `release the restore of ${restore.restored_at} from the backup of ${restore.made_at}, SHA-256 ${key}`
  if (operation === 'stop_store') return `stop the external key store ${printable(key)}, ${by}`
  if (operation === 'start_store') return `start the external key store ${printable(key)} again, ${by}`
  if (operation === 'access_key')
    return `create an access key for AWS KMS, region ${printable(request.region ?? '')}, path ${printable(request.uri_prefix ?? '')}, ${by}`
  const about =
    user_id === undefined ? '' : ` of ${(operation_types ?? []).join(', ')} to ${printable(user_id)}`
  return `${operation}${about}, key ${printable(key)}${formatWrapping(request)}, ${by}`
}

/** Formats the wrapping of exported key material. */
function formatWrapping({ operation, wrapping_key: wrapping }: Reply<'access.approvals.get'>): string {
  if (operation !== 'export') return ''
  return wrapping === undefined
    ? ', in clear or wrapped with any key'
    : `, wrapped with ${printable(wrapping)}`
}

/** Formats the settings to approve. */
function formatSettings(settings: NonNullable<Reply<'access.approvals.get'>['settings']>): string {
  const members = Object.entries(settings).map(
    ([name, value]) => `${name} = ${printable(JSON.stringify(value))}`,
  )
  return `settings: ${members.join(', ')}`
}

const askWords =
  'destroy|export|grant KEY [USER RIGHT...] | stop-store|start-store STORE | access-key REGION [PATH] | activate | settings | root-key | restore'

export const askVerb = kmsVerb({
  name: 'ask',
  words: askWords,
  summary:
    'Request the approval of the officers for an operation on one of your keys, or on the installation',
  about: `For operations that [approvals] in kms.toml names. The last approval executes a destruction, a grant, or the stop or
start of an external key store. An approved export can be used once, with Get or Export over KMIP; with --wrapped-by the
approval covers only that wrapping, without it the material may be exported in clear. After the approval of an access
key, create it with warder external aws new-credential.

activate: the last approval makes you an active crypto officer, like a ceremony; for crypto_officer_require_ceremony in
[roles]. settings: first change [roles] or [approvals] in kms.toml of the home, while the service runs with the old
values; the request contains the new ones. After the approval, restart the service. root-key: after the approval, run
warder root-key rotate. restore: a restored installation sends this request at its start; use this verb to repeat it
after a refusal.`,
  examples: [
    'warder officers ask destroy KEY',
    'warder officers ask export KEY --wrapped-by OTHER',
    'warder officers ask grant KEY bob get',
    'warder officers ask stop-store aws',
    'warder officers ask access-key eu-west-1',
    'warder officers ask activate',
    'warder officers ask settings',
  ],
  options: {
    anyway: { type: 'flag', help: 'for grant: accepts a name that no user has yet' },
    'wrapped-by': { type: 'text', value: 'KEY', help: 'for export: key that must wrap the material' },
    reason: { type: 'text', value: 'TEXT', help: 'why, for the officers' },
  },
  parse({ anyway, 'wrapped-by': wrapping, reason }, [word, ...words]) {
    const operation = readOperation(word)
    if (operation === undefined) throw new UsageError(`name the operation: warder officers ask ${askWords}`)
    if (wrapping !== undefined && operation !== 'export')
      throw new UsageError('--wrapped-by is only valid with export')
    const wrapped = wrapping === undefined ? {} : { wrapping_key: readKid(wrapping) }
    const buildSubject = readSubject(operation, words, anyway)
    const why = reason === undefined ? {} : { reason }
    const buildBody = (context: KmsContext) => ({ ...buildSubject(context), ...wrapped, ...why })
    return async (context) => {
      const { kms, show } = context
      const body = { operation: toApiOperation(operation), ...buildBody(context) }
      const call = () => kms.call('access.approvals.ask', { body })
      const request = await ('key' in body ? withKeyErrors('key', String(body.key), call) : call())
      show(request, [
        `request ${request.id}: ${request.needed} officers must approve it until ${request.until}`,
        `next: each of them runs  warder officers approve ${request.id}`,
      ])
      return 0
    }
  },
})

function toApiOperation(operation: Operation): Reply<'access.approvals.get'>['operation'] {
  if (operation === 'restore') return 'restore_backup'
  return operation.replace('-', '_') as Exclude<ReturnType<typeof toApiOperation>, 'restore_backup'>
}

/** Reads the subject of the request. @throws UsageError */
function readSubject(
  operation: Operation,
  [subject, user, ...rights]: readonly string[],
  anyway: boolean,
): (context: KmsContext) => object {
  const createUsageError = (sentence: string): UsageError =>
    new UsageError(`${sentence}: warder officers ask ${askWords}`)
  if (onAll.some((one) => one === operation)) {
    if (subject !== undefined) throw createUsageError(`${operation} takes no key`)
    return operation === 'settings'
      ? ({ endpoints: places }) => ({ settings: readSettings(places) })
      : () => ({})
  }
  if (operation === 'access-key') {
    if (subject === undefined || rights.length > 0)
      throw createUsageError('name the AWS region, and optionally the path of the store')
    return () => ({ region: subject, ...(user !== undefined && { uri_prefix: user }) })
  }
  if (subject === undefined) throw createUsageError('name the key or the store')
  const isGrant = operation === 'grant'
  if (isGrant !== (user !== undefined && rights.length > 0) || (!isGrant && user !== undefined))
    throw createUsageError('grant needs a user and rights, other operations take neither')
  if (onStores.some((one) => one === operation)) return () => ({ store: subject })
  const key = readKid(subject)
  return () => ({ key, ...(isGrant && { user_id: user, operation_types: rights, known: !anyway }) })
}

/** Reads the settings for the next start of the service in the home. @throws StartupError for a remote service */
function readSettings({ home, isRemote: elsewhere }: KmsContext['endpoints']): object {
  if (elsewhere)
    throw new StartupError('the request reads the settings in the home of the service: run it on its machine')
  const { values } = configure('kms', home, [], process.env).loaded
  const getValue = (name: string): unknown => values[name] ?? null
  return {
    crypto_officer_users: getValue('roles.crypto_officer_users'),
    crypto_officer_require_ceremony: getValue('roles.crypto_officer_require_ceremony'),
    ceremony_quorum: getValue('roles.ceremony_quorum'),
    ceremony_validity: getValue('roles.ceremony_validity'),
    operations: getValue('approvals.operations'),
    tags: getValue('approvals.tags'),
    algorithms: getValue('approvals.algorithms'),
    owners: getValue('approvals.owners'),
    validity: getValue('approvals.validity'),
    vote_with: getValue('approvals.vote_with'),
    credential_wait: getValue('approvals.credential_wait'),
  }
}

const pageSize = 100

export const requestsVerb = kmsVerb({
  name: 'requests',
  words: '',
  summary: 'List requests for approval: your own, and for officers those of all users',
  about: 'Requests are listed for 30 days after their end; the audit log keeps them.',
  examples: ['warder officers requests', 'warder officers requests --all'],
  options: { all: { type: 'flag', help: 'includes closed requests' } },
  parse({ all }, names) {
    requireNoNames(names)
    return async ({ kms, show, signal }) => {
      const found = []
      for (let after = ''; ; ) {
        signal.throwIfAborted()
        const page = await kms.call('access.approvals.list', { query: { after, limit: String(pageSize) } })
        found.push(...page.filter(({ state }) => all || state === 'open' || state === 'approved'))
        const last = page.at(-1)
        if (page.length < pageSize || last === undefined) break
        after = last.id
      }
      const rows = found.map((request) => [
        request.id,
        `${request.state} ${request.approved_by.length}/${request.needed}`,
        formatRequest(request),
      ])
      show(found, formatTable(['REQUEST', 'STATE', 'WHAT'], rows, 'there are no requests'))
      return 0
    }
  },
})

/** Shows the request, asks for confirmation, and votes. The hash binds the vote to the request that was shown. */
function vote(
  verb: 'approve' | 'refuse',
  id: string,
  reason?: string,
): (context: KmsContext) => Promise<number> {
  return async ({ kms, show, confirm }) => {
    const request = await kms.call('access.approvals.get', { path: { id } })
    await confirm(`${verb} this? ${formatRequest(request)}`)
    const { hash } = request
    const after =
      verb === 'approve'
        ? await kms.call('access.approvals.approve', { path: { id }, body: { hash } })
        : await kms.call('access.approvals.refuse', {
            path: { id },
            body: { hash, ...(reason !== undefined && { reason }) },
          })
    show(after, [
      `${after.state}: ${after.approved_by.length} of ${after.needed} approvals (${formatRequest(after)})`,
    ])
    return 0
  }
}

export const approveVerb = kmsVerb({
  name: 'approve',
  words: 'REQUEST',
  summary: 'Approve a request as an officer; the last approval executes it',
  about:
    'Shows the request and asks for confirmation (--yes skips it). Officers cannot approve their own requests.',
  examples: ['warder officers approve REQUEST'],
  options: {},
  parse: (_, names) => vote('approve', requireOneName(names, 'request')),
})

export const refuseVerb = kmsVerb({
  name: 'refuse',
  words: 'REQUEST',
  summary: 'Refuse a request as an officer',
  about: 'The request is closed when too few officers are left to approve it.',
  examples: ['warder officers refuse REQUEST', 'warder officers refuse REQUEST --reason "still in use"'],
  options: { reason: { type: 'text', value: 'TEXT', help: 'why, for the requester and the other officers' } },
  parse: ({ reason }, names) => vote('refuse', requireOneName(names, 'request'), reason),
})

export const withdrawVerb = kmsVerb({
  name: 'withdraw',
  words: 'REQUEST',
  summary: 'Withdraw a request of your own',
  about: '',
  examples: ['warder officers withdraw REQUEST'],
  options: {},
  parse(_, names) {
    const id = requireOneName(names, 'request')
    return async ({ kms, show }) => {
      const request = await kms.call('access.approvals.withdraw', { path: { id } })
      show(request, [`withdrawn: ${formatRequest(request)}`])
      return 0
    }
  },
})
