import { stageCompromisedKey } from '@warder/authority'
import { failure } from '@warder/base'
import {
  approvalNeeded,
  type LifeCycleEvent,
  type ManagedObject,
  type Right,
  requirePrincipal,
  restored,
  runningTime,
  stateAt,
  transition,
  type UnitOfWork,
  waiting,
} from '@warder/keys'
import type { Effect, OperationContext } from '@warder/server'
import Type, { type Static } from 'typebox'
import { requireThere } from './key-life.ts'
import type { RestServices } from './services.ts'

export const EventRequest = Type.Object({
  compromised: Type.Optional(
    Type.Boolean({
      description: 'For revoke: the version is compromised. Default: false, the version is only deactivated.',
    }),
  ),
})

/** The request schema of each event: only a revocation accepts members about the revocation. */
export const requestSchema = (verb: VersionVerb): typeof EventRequest =>
  verb === 'revoke' ? EventRequest : (Type.Object({}) as unknown as typeof EventRequest)

/** Everything that one event of a version needs. */
export interface VersionEventSpec {
  readonly context: OperationContext<RestServices>
  readonly objects: UnitOfWork
  /** Generation 0. */
  readonly key: ManagedObject
  /** Unix milliseconds. */
  readonly now: number
  readonly body: Static<typeof EventRequest>
}

/** An event of a version of a key, and the rights on the key that it requires. */
export interface VersionEvent {
  readonly right: Right
  readonly more: readonly Right[]
  readonly reach: readonly Effect[]
  readonly summary: string
  /** Stages it for the version, and for the other half of it. @throws failure('crypto_failure') */
  stage(half: ManagedObject, about: VersionEventSpec): Promise<void>
}

export const versionVerbs = ['activate', 'revoke', 'destroy', 'restore', 'disable', 'enable'] as const
export type VersionVerb = (typeof versionVerbs)[number]

export const versionEvents: Readonly<Record<VersionVerb, VersionEvent>> = {
  activate: {
    right: 'activate',
    more: [],
    reach: ['change state'],
    summary: 'Activate one version of a key before its date',
    stage: async (half, { objects, now }) => stageEvents(objects, half, ['activate'], now),
  },
  revoke: {
    right: 'revoke',
    more: [],
    reach: ['change state', 'end object'],
    summary: 'Deactivate one version of a key, or report it as compromised',
    async stage(half, { objects, now, body: { compromised = false } }) {
      if (compromised) await stageCompromisedKey(objects, half, now)
      stageEvents(objects, half, [compromised ? 'compromise' : 'deactivate'], now)
    },
  },
  destroy: {
    right: 'destroy',
    more: ['revoke'],
    reach: ['change state', 'end object'],
    summary:
      'Destroy one version of a key, now or after the delay of the settings: data that it protects is lost',
    stage: stageDestruction,
  },
  restore: {
    right: 'activate',
    more: [],
    reach: ['change state'],
    summary: 'Cancel the pending destruction of one version of a key',
    async stage(half, { objects, key }) {
      if (half.destruction === undefined)
        throw failure('crypto_failure', 'The destruction of this version is not pending.')
      const newest = key.newestId === undefined ? key : await objects.read(key.newestId)
      if (newest?.destruction?.askedAt === half.destruction.askedAt && newest.id !== half.id)
        throw failure('crypto_failure', 'The destruction of the whole key is pending: restore the key.')
      objects.update(half, restored)
    },
  },
  disable: {
    right: 'revoke',
    more: [],
    reach: ['change state'],
    summary: 'Disable one version of a key until it is enabled',
    async stage(half, { objects, now }) {
      requireThere(half, now)
      if (half.disabledAt === undefined) objects.update(half, { disabledAt: now })
    },
  },
  enable: {
    right: 'activate',
    more: [],
    reach: ['change state'],
    summary: 'Enable a disabled version of a key',
    async stage(half, { objects, now }) {
      requireThere(half, now)
      if (half.disabledAt !== undefined) objects.update(half, { disabledAt: undefined })
    },
  },
}

/** A destruction that is already pending keeps its date. */
async function stageDestruction(
  half: ManagedObject,
  { context, objects, now }: VersionEventSpec,
): Promise<void> {
  const { db, roles } = context.services
  if (await roles.approvals.covers('destroy', half)) throw approvalNeeded('destroy', roles.officers)
  if (half.destroyedAt === undefined && half.destructionAt !== undefined) return
  const days = half.destroyedAt === undefined ? await roles.destructions.daysOf(half) : 0
  if (days === 0) {
    const isActive = stateAt(half, now) === 'Active'
    stageEvents(objects, half, isActive ? ['deactivate', 'destroy'] : ['destroy'], now)
    return
  }
  const { name: by } = requirePrincipal(context)
  objects.update(half, waiting({ days, by, manner: 'destroy', now, ranMs: await runningTime(db) }))
}

/** Life cycle events, one after the other. @throws failure('crypto_failure') */
function stageEvents(
  objects: UnitOfWork,
  object: ManagedObject,
  events: readonly LifeCycleEvent[],
  now: number,
): void {
  let cycle: ManagedObject = object
  for (const event of events) cycle = { ...cycle, ...transition(cycle, event, now) }
  const { state, activationAt, deactivationAt, compromisedAt, destroyedAt } = cycle
  const dates = { state, activationAt, deactivationAt, compromisedAt, destroyedAt }
  objects.update(object, { ...dates, ...findReason(events) }, events.includes('destroy') ? null : undefined)
}

/** KMIP 2.1 §11.49: clients that read the version over KMIP see that it was revoked, and why. */
function findReason(events: readonly LifeCycleEvent[]): Pick<ManagedObject, 'revocationReason'> | undefined {
  if (events.includes('compromise')) return { revocationReason: 'KeyCompromise' }
  return events.includes('deactivate') ? { revocationReason: 'CessationOfOperation' } : undefined
}
