import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type Change, change, type Database, type Query, query, type SqlValue } from '@warder/storage'
import {
  adminsBehind,
  adminsNamingSaml,
  countSuperAdmins,
  findAdmin,
  hasTotp,
  listAdmins,
} from './admins/admin-store.ts'
import {
  countRecoveryCodes,
  recoveryCodeUse,
  renewRecoveryCodes,
  uselessCodesRemoval,
} from './login/recovery-code-store.ts'
import {
  appRoleUnchanged,
  findAppRole,
  findAppRoleById,
  findSecretId,
  removeExpiredSecretIds,
  roleSecretIdsDestruction,
  secretIdDestruction,
  secretIdUse,
} from './machines/approle-store.ts'
import { noSecretIdLimits, noTokenLimits } from './machines/limits.ts'
import { findOrchestratorRole } from './machines/orchestrator-store.ts'
import {
  removeExpiredTokens,
  roleTokensRevocation,
  tokenRemovalIfExpired,
  tokenRenewal,
  tokenRevocation,
  tokenUse,
} from './machines/token-store.ts'
import { createUsedTokens, findToken } from './machines/tokens.ts'
import { findSubject, listSubjects, subjectClaim, subjectRemoval } from './methods/jwt/subject-store.ts'
import {
  challengeUse,
  findPasskey,
  listPasskeys,
  type Passkey,
  passkeyInsertion,
  passkeyRegression,
  passkeyRemoval,
  passkeyRenaming,
  passkeysRemoval,
  passkeyUse,
  removeExpiredChallenges,
} from './methods/passkey/passkey-store.ts'
import {
  credentialUnchanged,
  findCredential,
  listCredentials,
  listEveryCredential,
} from './methods/password/credential-store.ts'
import {
  enrollmentLinkUse,
  findEnrollmentLink,
  newEnrollmentLink,
  removeExpiredLinks,
} from './methods/totp/enrollment-link-store.ts'
import { findTotp, totpRemoval, totpStepUse } from './methods/totp/totp-store.ts'
import {
  isKnownRole,
  isKnownUser,
  personEnd,
  personKnownThrough,
  providerPersonsEnd,
  providerPersonsMove,
} from './person-store.ts'
import { realmRules } from './realm-rules.ts'
import type { Realm } from './realms/realm.ts'
import { listRealms, removeRealm, replaceRealm } from './realms/realm-store.ts'
import { readFeedAfter, readFeedHead, sweepFeed } from './revocations/feed-store.ts'
import {
  credentialSessionsEnd,
  externalSessionsEnd,
  jwtSessionsEnd,
  otherIssuersSessionsEnd,
  passkeySessionsEnd,
  passwordSessionsEnd,
  realmSessionsEnd,
  schemeSessionsEnd,
  sessionsEnd,
} from './sessions/session-end-store.ts'
import {
  findSession,
  listSessionIds,
  listSessions,
  listSessionsOfSchemes,
  removeEndedSessions,
  sessionRemovalIfEnded,
  sessionSlide,
} from './sessions/session-store.ts'
import { startAuth } from './testing/start.ts'
import { createFailureCounter, removeOldFailures } from './throttle.ts'

type Asked = readonly [text: string, params: readonly SqlValue[]]

/** Records every statement without executing it. */
function stenographer() {
  const asked: Asked[] = []
  const note = (statement: Query<readonly SqlValue[], unknown>, params: readonly SqlValue[]): void => {
    asked.push([statement.text, params])
  }
  const commit = async (changes: readonly Change[]) => {
    for (const { query: statement, params } of changes) note(statement, params)
    return []
  }
  const db = {
    get: (statement, params) => note(statement, params) as undefined,
    all(statement, params) {
      note(statement, params)
      return []
    },
    commit,
    // These statements need no plan.
    changed: () => change(query('DELETE FROM realm WHERE id = ?'), ['x']),
  } satisfies Pick<Database, 'get' | 'all' | 'commit' | 'changed'>
  return { asked, db: db as unknown as Database }
}

/** Statements that change one row by its key. */
function singleRows(): readonly Change[] {
  const hash = new Uint8Array(32)
  const role = { name: 'x', roleId: 'x', realm: 'r', tokenTtl: 1, secretIdTtl: 1, policies: [], version: 1 }
  const credential = {
    realm: 'r',
    username: 'u',
    passwordHash: '',
    changePassword: false,
    roles: [],
    version: 1,
  }
  const token = {
    ...{ hash, entity: 'x', realm: 'r', policies: [], renewable: true, leaseDuration: 1, expiresAt: 1 },
    ...{ createdAt: 1, roleKind: 'approle' as const, roleName: 'x' },
    ...{ boundCidrs: [], usesLeft: 1, explicitEnd: 0 },
  }
  const secret = {
    accessor: 'a',
    roleName: 'x',
    expiresAt: 1,
    usesLeft: 1,
    boundCidrs: [],
    tokenBoundCidrs: [],
  }
  const limits = { secretIdLimits: noSecretIdLimits, tokenLimits: noTokenLimits }
  return [
    tokenRenewal(token, 1, 1),
    ...tokenUse(hash),
    tokenRevocation(token),
    tokenRemovalIfExpired(hash, 1),
    secretIdUse(secret, 1),
    sessionSlide('s', 1),
    sessionRemovalIfEnded('s', 1),
    totpStepUse('r', 'u', 1),
    totpRemoval('r', 'u'),
    subjectClaim({ realm: 'r', subject: 'u', issuer: 'i', createdAt: 1 }),
    subjectRemoval('r', 'u'),
    appRoleUnchanged({ ...role, ...limits, bindSecretId: true }),
    credentialUnchanged({ ...credential, extraClaims: undefined }),
  ]
}

/** A realm with one identity provider. */
const createRealm = (jwt_issuer_uri: string): Realm => ({
  id: 'r',
  auth_params: { jwt_params: { idp_params: [{ jwt_issuer_uri, jwks_uri: 'https://k' }] } },
  session_max_age_seconds: 1,
  session_max_stale_age_seconds: 1,
  certificate_max_age_seconds: 1,
})

/**
 * With these settings PostgreSQL reads a table sequentially only where it must; otherwise it would do so for the few
 * rows of a test.
 */
const indexesFirst = Object.fromEntries(
  ['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin'].map((way) => [`enable_${way}`, 'off']),
)

/** Returns the plan of a statement, and whether it uses only an index. */
async function explainQuery(db: Database, text: string, params: readonly SqlValue[]) {
  if (db.dialect === 'postgresql') {
    const rows = await db.all(query<SqlValue[], Record<string, string>>(`EXPLAIN ${text}`), [...params])
    const plan = rows.map((row) => row['QUERY PLAN'] ?? '').join('\n')
    const count = (what: RegExp): number => plan.match(what)?.length ?? 0
    const byIndex = count(/Index Cond:/g) > 0 && count(/Index Cond:/g) >= count(/Index (Only )?Scan/g)
    return { plan, byIndex, whole: /Seq Scan|Sort/.test(plan) }
  }
  const rows = await db.all(query<SqlValue[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`), [...params])
  const plan = rows.map(({ detail }) => detail).join('; ')
  return { plan, byIndex: plan.includes('SEARCH'), whole: /SCAN (?!\(subquery)|TEMP B-TREE/.test(plan) }
}

function passkeyChanges(): readonly Change[] {
  const passkey: Passkey = {
    ...{ id: 'x', realm: 'r', username: 'u', subjectId: 's', name: 'n', publicKey: new Uint8Array(1) },
    ...{ signCount: 1, backupEligible: false, backedUp: false, aaguid: 'a', transports: [], createdAt: 1 },
    ...{ lastUsedAt: undefined, regressedAt: undefined },
  }
  return [
    passkeyInsertion(passkey),
    passkeyUse(passkey, { signCount: 2, backedUp: false, at: 1 }),
    passkeyRegression('x', 1),
    passkeyRenaming('x', 'r', 'u', 'n'),
    passkeyRemoval('x', 'r', 'u'),
    passkeysRemoval('r', 'u'),
    challengeUse('c', 1),
    recoveryCodeUse(new Uint8Array(1), 'r', 'u'),
    ...renewRecoveryCodes('r', 'u', 1).changes,
    uselessCodesRemoval('r', 'u'),
    ...newEnrollmentLink({ realm: 'r', username: 'u', expiresAt: 1 }).changes,
    enrollmentLinkUse('t', 1),
  ]
}

it('no lookup, list or sweep scans or sorts a large table', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse', postgresSettings: indexesFirst })
  const { asked, db } = stenographer()
  const { commit } = db
  const end = { at: 1, reason: 'deleted' } as const
  const client = { realm: 'r', username: 'u', scheme: 'up' } as const
  const page = { after: '', limit: 9 }
  await findToken(
    { db, metrics: auth.services.metrics, now: () => 1, usedTokens: createUsedTokens(db) },
    'wt.x',
  )
  await removeExpiredTokens(commit, 1)
  await findSecretId(db, 'x')
  await removeExpiredSecretIds(commit, 1)
  await findSession(db, 'x')
  await listSessionIds(db, client, 1)
  const own = { realm: 'r', username: 'u', schemes: ['up', 'f2'], after: '', limit: 9 } as const
  await listSessionsOfSchemes(db, own, 1)
  for (const username of [undefined, 'u']) {
    await listSessions(db, { realm: 'r', username, after: undefined, limit: 9 }, 1)
  }
  await removeEndedSessions(commit, 1)
  await removeEndedSessions(commit, 1, 'r')
  await findCredential(db, 'r', 'u')
  await listCredentials(db, 'r', page)
  await listEveryCredential(db, page)
  await listRealms(db, page)
  await findTotp(db, 'r', 'u')
  await findPasskey(db, 'x')
  await listPasskeys(db, 'r', 'u')
  await removeExpiredChallenges(commit, 1)
  await removeExpiredLinks(commit, 1)
  await findEnrollmentLink(db, 't', 1)
  await countRecoveryCodes(db, 'r', 'u')
  await removeOldFailures(commit, 1)
  const failures = createFailureCounter(db, new Uint8Array(32))
  await failures.state(1, 1)
  await failures.count(1, 1)
  await failures.clear(1)
  await removeRealm(commit, 'r', [])
  const ending = { ...auth.services, db }
  const endings = realmRules.endingsOf(ending, createRealm('i'), createRealm('j'))
  await replaceRealm(commit, createRealm('i'), createRealm('j'), [], { ...endings, others: [] })
  await readFeedHead(db)
  await readFeedAfter(db, 1, 9)
  await sweepFeed(commit, 1)
  await findSubject(db, 'r', 'u')
  await listSubjects(db, 'r', page)
  const certificate = { username: 'u', certificateSha256: 'f' }
  for (const scheme of ['up', 'jwt', 'cc', 'f2'] as const) await adminsBehind(db, { scheme, ...certificate })
  await findAdmin(db, 'a')
  await hasTotp(db, { userpass: 'u', jwt: 'j', realms: ['r'] })
  await listAdmins(db, page)
  const { oneFewer } = await countSuperAdmins(db)
  await findAppRole(db, 'x')
  await findAppRoleById(db, 'x')
  await findOrchestratorRole(db, 'x')
  await isKnownUser(db, 'r', 'u')
  await adminsNamingSaml(db, 'r')
  await adminsNamingSaml(db, '_')
  await isKnownRole(db, 'r', 'x')
  await commit([
    roleTokensRevocation('approle', 'x'),
    roleSecretIdsDestruction('x'),
    secretIdDestruction('x', 'x'),
    ...sessionsEnd(db, ['s'], end).flat(),
    ...realmSessionsEnd(db, 'r', end),
    ...passwordSessionsEnd(db, 'r', 'u', end),
    ...jwtSessionsEnd(db, 'r', 'u', end),
    ...otherIssuersSessionsEnd(db, 'r', 'u', 'i', end),
    ...personEnd(db, 'r', 'u', end),
    ...providerPersonsEnd(db, 'r', 'i', 1),
    providerPersonsMove('r', 'i', 'j'),
    personKnownThrough({ realm: 'r', username: 'u', subjectId: 'x' }, 'i'),
    ...externalSessionsEnd(db, 'r', 'u', end),
    ...singleRows(),
    ...passkeyChanges(),
    ...credentialSessionsEnd(db, 'r', 'u', end),
    ...passkeySessionsEnd(db, 'r', 'u', end),
    ...schemeSessionsEnd(db, 'r', 'f2', end),
    oneFewer,
  ])
  assert.ok(asked.length >= 30)
  for (const [text, params] of asked) {
    const { plan, byIndex, whole } = await explainQuery(auth.db, text, params)
    assert.equal(whole, false, `${text}: ${plan}`)
    assert.ok(byIndex || text.startsWith('INSERT'), `${text}: ${plan}`)
  }
})
