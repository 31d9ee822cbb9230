import type { Reply } from '@warder/client/browser'
import type { ReactNode } from 'react'
import { kms } from '../../../api.ts'
import { Skeleton } from '../../../parts/skeleton.tsx'
import { texts } from '../../../texts.ts'
import { type ApprovalRequest, isOnKey, isRunning } from './requests.ts'

const words = texts.changes
type Key = Reply<'crypto.keys.get'>
type Settings = NonNullable<ApprovalRequest['settings']>

/** One property of the object, before and after the approval. */
interface Change {
  readonly aspect: string
  readonly now: ReactNode
  readonly after: ReactNode
}

/** The key of a request as it is now; missing for users who may not see it. */
export function useRequestedKey(request: ApprovalRequest) {
  const enabled = isOnKey(request)
  const read = kms.useOperation('crypto.keys.get', { path: { kid: request.key } }, { enabled })
  return { key: read.data, isPending: enabled && read.isPending }
}

/** What is so now, and what the approval would make of it. */
export function Changes({ request }: { readonly request: ApprovalRequest }) {
  const { key, isPending } = useRequestedKey(request)
  const changes = useChanges(request, key)
  const title = isRunning(request) ? texts.approvals.change : texts.approvals.changed
  if (isPending) return <Skeleton />
  return (
    <section>
      <h2>{title}</h2>
      {isOnKey(request) && key === undefined && <p className="notice">{texts.approvals.unreadable}</p>}
      <table className="changes">
        <caption className="hidden">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{texts.approvals.aspect}</th>
            <th scope="col">{texts.approvals.now}</th>
            <th scope="col">{texts.approvals.after}</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ aspect, now, after }) => (
            <tr key={aspect}>
              <th scope="row">{aspect}</th>
              <td data-label={texts.approvals.now}>
                <bdi>{now}</bdi>
              </td>
              <td data-label={texts.approvals.after}>
                <bdi>{after}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function useChanges(request: ApprovalRequest, key: Key | undefined): readonly Change[] {
  const { operation, key: object, requester } = request
  const isStore = operation === 'stop_store' || operation === 'start_store'
  const about = { path: { object_id: object } }
  const grants = kms.useOperation('access.list', about, { enabled: isOnKey(request) }).data
  const uses = kms.useOperation(
    'crypto.keys.uses',
    { path: { kid: object } },
    { enabled: operation === 'destroy' },
  ).data
  const stores = kms.useOperation('external.list', {}, { enabled: isStore }).data
  const officers = kms.useOperation('access.officers.status', {}).data
  switch (operation) {
    case 'destroy':
      return toDestruction(key, grants ?? [], uses?.uses ?? [])
    case 'grant':
      return toGrant(request, grants)
    case 'export':
      return toExport(request, key)
    case 'stop_store':
    case 'start_store':
      return toSwitch(request, stores)
    case 'access_key': {
      const { region = '', uri_prefix: path = '' } = request
      const after = words.accessKeyAfter(requester, region, path)
      return [{ aspect: words.accessKey, now: words.accessKeyNow, after }]
    }
    case 'settings':
      return toSettings(request, officers)
    case 'root_key':
      return [{ aspect: words.rootKey, now: words.rootKeyNow, after: words.rootKeyAfter(requester) }]
    case 'restore_backup':
      return [{ aspect: words.backup, now: words.backupNow, after: words.backupAfter }]
    case 'activate': {
      const isActive = officers?.active_co_users.includes(object) === true
      const now = isActive ? words.active : words.dormant
      return [{ aspect: `${words.officer} ${object}`, now, after: words.activeAfter }]
    }
  }
}

function toDestruction(
  key: Key | undefined,
  grants: Reply<'access.list'>,
  uses: Reply<'crypto.keys.uses'>['uses'],
): readonly Change[] {
  const users = [...new Set(grants.map(({ user_id: user }) => user))]
  const last = uses.slice(0, 5).map(({ user, last_used: day }) => words.used(user, day))
  return [
    {
      aspect: words.key,
      now: key === undefined ? words.unknownNow : words.state(key.state, key.version),
      after: words.destroyed,
    },
    {
      aspect: words.material,
      now: key?.hsm === undefined ? words.stored : words.inHsm(key.hsm),
      after: words.removed,
    },
    { aspect: words.ciphertexts, now: words.readable, after: words.unreadable },
    {
      aspect: words.grants,
      now: users.length === 0 ? words.noGrants : words.grantsOf(users),
      after: users.length === 0 ? words.noGrants : words.endWithKey,
    },
    {
      aspect: words.lastUse,
      now: last.length === 0 ? words.neverUsed : last.join('; '),
      after: last.length === 0 ? words.unchanged : words.breaks,
    },
    ...(key?.linked_kid === undefined
      ? []
      : [{ aspect: words.pair, now: <code>{key.linked_kid}</code>, after: words.alsoDestroyed }]),
  ]
}

function toGrant(request: ApprovalRequest, grants: Reply<'access.list'> | undefined): readonly Change[] {
  const { user_id: user = '', operation_types: rights = [] } = request
  const had = (grants ?? []).filter((grant) => grant.user_id === user).flatMap(({ operations }) => operations)
  const after = [...new Set([...had, ...rights])].sort().join(', ')
  const now = grants === undefined ? words.unknownNow : had.length === 0 ? words.none : had.join(', ')
  return [{ aspect: words.rightsOf(user), now, after: isRunning(request) ? after : rights.join(', ') }]
}

function toExport({ requester, wrapping_key: wrapping }: ApprovalRequest, key: Key | undefined) {
  const after = wrapping === undefined ? words.leaves(requester) : words.leavesWrapped(requester, wrapping)
  const now = key?.ext === false ? `${words.inside}. ${words.notExtractable}` : words.inside
  return [{ aspect: words.material, now, after }]
}

function toSwitch({ operation, key: name }: ApprovalRequest, stores: Reply<'external.list'> | undefined) {
  const store = stores?.find((each) => each.name === name)
  const now =
    store === undefined
      ? words.unknownNow
      : store.stopped === null
        ? words.running
        : words.stopped(store.stopped.by)
  const after = operation === 'stop_store' ? words.stoppedAfter : words.runningAfter
  return [{ aspect: `${words.store} ${name}`, now, after }]
}

const formatSetting = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') || words.none : value === null ? words.none : String(value)

/** The service tells its officers, and how many have to approve; other present settings it does not. */
function toSettings(
  { settings, needed }: ApprovalRequest,
  officers: Reply<'access.officers.status'> | undefined,
): readonly Change[] {
  const present: Partial<Readonly<Record<keyof Settings, unknown>>> =
    officers === undefined
      ? {}
      : {
          crypto_officer_users: officers.users,
          crypto_officer_require_ceremony: officers.require_ceremony,
          ceremony_quorum: needed,
        }
  return Object.entries(settings ?? {}).map(([name, value]) => {
    const known = present[name as keyof Settings]
    return {
      aspect: name,
      now: known === undefined ? words.unknownNow : formatSetting(known),
      after: formatSetting(value),
    }
  })
}
