import { createOwnEvent } from '@warder/audit'
import {
  type CredentialSet,
  type EndedName,
  type Follower,
  readSharedMemory,
  shareEnded,
  shareNothing,
} from '@warder/identity'
import type { ServiceEnvironment } from '@warder/runtime'
import { approvalSettings, type KmsConfig } from './settings.ts'

/** Max time that the start waits for the revocation feed: sessions are refused while revocations are unknown. */
const feedWaitMs = 5000

type Environment = ServiceEnvironment<KmsConfig>

/** Whether an authentication service is configured whose revocation feed this service reads. */
function isTold({ config, peerSecret }: Environment): boolean {
  return config.auth_verifier_url !== undefined && peerSecret !== undefined
}

/** In the primary, before any worker: all workers read the data of this follower. */
export async function prepareEnded(environment: Environment): Promise<void> {
  const { config, log } = environment
  if (isTold(environment)) shareEnded(config)
  else {
    shareNothing()
    if (config.auth_verifier_url !== undefined)
      log.warn(
        {},
        'sessions that were ended early at auth are still accepted here: WARDER_PEER_SECRET is not shared',
      )
  }
}

/** Ends names one by one, each with its record; one that cannot be ended now is tried again with the whole page. */
async function endNames(
  { db, clock, audit, config }: Environment,
  names: readonly EndedName[],
): Promise<void> {
  const { endName } = await import('@warder/keys')
  for (const { name, subjectId } of names) {
    const approvesGrants = config['approvals.operations'].includes('grant')
    const parts = { db, commit: db.commit, now: () => clock.now(), approvesGrants }
    const ended = await endName(parts, name, subjectId)
    if (ended === undefined) continue
    audit.record({
      time: clock.now(),
      request_id: '-',
      operation: 'access.name_ended',
      principal: 'warder',
      auth_method: 'none',
      client_ip: '-',
      outcome: 'success',
      status: 200,
      duration_ms: 0,
      object: name,
      details: { subject_id: subjectId, ...ended },
    })
  }
}

/** Changes of officers' credentials that are notified although they revoke nothing: recent and still waiting ones. */
const freshMs = 600_000

/** Ends votes, requests and activations from before the change, each user with a record and a notice. */
export async function endVotes(environment: Environment, changes: readonly CredentialSet[]): Promise<void> {
  const { db, clock, audit, config } = environment
  const { namesThatVote, readWaitingCredentials, toVoteRule, voidVotes } = await import('@warder/keys')
  const { isNameOfRealm } = await import('@warder/identity')
  const { getNotices } = await import('./notices.ts')
  const { credentialWaitMs } = toVoteRule(approvalSettings(config))
  const officers = new Set(config['roles.crypto_officer_users'])
  // Most users whose passwords are set never vote, and a feed may be long.
  const voting = await namesThatVote(db)
  const listNames = (realm: string): readonly string[] =>
    [...new Set([...officers, ...voting])].filter((name) =>
      isNameOfRealm(name, realm, config.auth_verifier_realm),
    )
  for (const { realm, name: user, at } of changes) {
    for (const name of user === undefined ? listNames(realm) : [user]) {
      const isOfficer = officers.has(name)
      if (!voting.has(name) && !isOfficer) continue
      const { ended, isNew } = await voidVotes(db, name, { at: at * 1000, isOfficer }, clock.now())
      const isTold = isNew && clock.now() - at * 1000 < Math.max(freshMs, credentialWaitMs)
      if (ended.votes + ended.requests + ended.activations === 0 && !isTold) continue
      const waits = (await readWaitingCredentials(db)).has(name)
      const from = waits ? { counts_from: new Date(at * 1000 + credentialWaitMs).toISOString() } : {}
      const details = { ...ended, ...from }
      audit.record({ ...createOwnEvent(clock.now(), 'access.credential_set'), object: name, details })
      await getNotices(environment)?.tell('credential_set', { user: name, ended, ...from })
    }
  }
}

/** Subscribes to revocations at the authentication service, for all workers of this process. */
export async function followAuth(environment: Environment): Promise<Follower | undefined> {
  const memory = readSharedMemory()
  if (!isTold(environment) || memory === undefined) return undefined
  // Loaded only if there is a feed to subscribe to.
  const { createEndedWriter, follow } = await import('@warder/identity')
  const { configuredFeed, userName } = await import('@warder/identity')
  const { config, clock, log, peerSecret } = environment
  const source = configuredFeed(environment, peerSecret)
  if (source === undefined) return undefined
  const follower = follow({
    source,
    writer: createEndedWriter(memory, config, clock),
    nameOf: (realm, username) => userName(realm, username, config.auth_verifier_realm),
    endNames: (names) => endNames(environment, names),
    endVotes: (users) => endVotes(environment, users),
    clock,
    log,
  })
  await follower.ready(feedWaitMs)
  return follower
}
