import assert from 'node:assert/strict'
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { httpHost } from '@warder/authority/testing'
import { dataKey, issue, startIssuers } from '@warder/external-stores/testing'
import { addRetiredNode } from '../../testing/in-process.ts'
import { walkConsole, walkHandover, walkOpenId, walkSaml } from './testing/browsers.ts'
import { walkAcme, walkPki } from './testing/certificates.ts'
import {
  type CloudKeys,
  cloudSettings,
  makeCloudKeys,
  walkAws,
  walkAzure,
  walkGoogle,
  walkMicrosoft,
} from './testing/clouds.ts'
import { createWalkedHsm, walkHsm, walkKeys, walkKmip } from './testing/keys.ts'
import { walkMachines } from './testing/machines.ts'
import { officerSettings, walkOfficers } from './testing/officers.ts'
import { startOldKeyService, startOpenIdProvider, tokenIssuer } from './testing/parties.ts'
import { peerSecret, walkRealms } from './testing/realms.ts'
import { walkOtherPaths, walkTransit } from './testing/transit.ts'
import { startWalk, walkerOf } from './testing/walked-installation.ts'

/** Operations that are there to refuse, with the status that is their answer. */
const refusals: Readonly<Record<string, number>> = {
  'kms transit.refused.trim': 400,
  'kms transit.refused.export': 400,
  'kms transit.refused.backup': 400,
  'kms transit.refused.restore': 400,
  'kms transit.refused.restore.name': 400,
  'kms transit.refused.import': 400,
  'kms transit.refused.import_version': 400,
  'kms transit.refused.wrapping_key': 400,
  'kms auth_proxy.others': 404,
  // Only another node of the database may send it.
  'auth audit.node': 401,
  'kms audit.node': 401,
}

// POST /password was 500 in everything that ships, and every test passed, since none called it there.
test('every operation that the services describe succeeds at least once, in what is started', {
  timeout: 300_000,
}, async () => {
  await using opened = new AsyncDisposableStack()
  const walk = opened.use(startWalk())
  const issuers = opened.use(await startIssuers())
  const host = opened.use(await httpHost())
  const issuer = await tokenIssuer(issuers)
  const azure = await issue('Azure clients')
  const authority = join(walk.home, 'azure.pem')
  const ca = join(walk.home, 'tls', 'ca.crt')
  let keys: CloudKeys | undefined
  // Passwords are checked at auth where the kms serves one realm; the keys of the clouds are made before their settings.
  await walk.run({ KMS_AUTH_VERIFIER_REALM: '_' }, async (walked) => {
    if (process.env.WARDER_TEST_COMMAND !== undefined && process.platform === 'linux') {
      const node = realpathSync(`/proc/${walked.installation.process.pid}/exe`)
      assert.equal(node, join(realpathSync(process.env.WARDER_TEST_COMMAND), '../../lib/warder/node'))
    }
    const json = { username: 'admin', password: walked.installation.password }
    await walkerOf(walked.wire('kms')).post('/ui/login', json)
    keys = await makeCloudKeys(walked)
  })
  assert.ok(keys !== undefined)
  const cloudKeys = keys
  writeFileSync(authority, azure.certificatePem)
  issuers.trustAs(walk.home)
  const old = opened.use(await startOldKeyService(walk.home, dataKey))
  for (const service of ['auth', 'kms']) await addRetiredNode(join(walk.home, `${service}.db`))
  const provider = opened.use(await startOpenIdProvider(walk.home))
  const env = {
    ...cloudSettings(cloudKeys, issuers, authority, old.url),
    WARDER_PEER_SECRET: peerSecret,
    AUTH_OUTBOUND_ALLOW_PRIVATE_NETWORKS: 'true',
    AUTH_OUTBOUND_CA_FILE: ca,
    KMS_OUTBOUND_ALLOW_PRIVATE_NETWORKS: 'true',
    KMS_OUTBOUND_CA_FILE: ca,
    KMS_TRANSIT_ENABLED: 'true',
    KMS_VAULT_API_ENABLED: 'true',
    KMS_PENDING_DESTRUCTION_DAYS_BY: 'tag:waits=7',
    KMS_ACME_ALLOW_PRIVATE_NETWORKS: 'true',
    KMS_ACME_HTTP_PORT: String(host.port),
    UI_OIDC_ISSUER_URL: provider.issuer,
    UI_OIDC_CLIENT_ID: 'warder',
  }
  const hsm = await createWalkedHsm()
  opened.defer(() => hsm?.softhsm[Symbol.dispose]())
  await walk.run({ ...env, ...hsm?.env }, async (walked) => {
    await walkRealms(walked, issuer)
    // Before the kms remembers which realms log in at an identity provider.
    await walkSaml(walked)
    await walkHandover(walked)
    await walkConsole(walked)
    await walkMachines(walked, issuer)
    await walkKeys(walked)
    if (hsm !== undefined) await walkHsm(walked)
    await walkKmip(walked)
    await walkTransit(walked)
    await walkOtherPaths(walked)
    await walkPki(walked)
    await walkAcme(walked, host)
    await walkAws(walked)
    await walkAzure(walked, azure)
    await walkGoogle(walked, cloudKeys, old.url)
    await walkMicrosoft(walked, cloudKeys, issuers)
    await walkOpenId(walked, provider)
  })
  await walk.run(officerSettings, walkOfficers)

  const without: string[] = []
  for (const [name, all] of walk.operations) {
    if (hsm === undefined && name.startsWith('kms crypto.hsms.')) continue
    const statuses = [...all]
    const refusal = Object.entries(refusals).find(
      ([each]) => name === each || name.startsWith(`${each}.`),
    )?.[1]
    const hasSucceeded = statuses.some((status) => status < 400)
    if (refusal === undefined ? !hasSucceeded : hasSucceeded || !statuses.includes(refusal))
      without.push(`${name}: ${statuses.join(', ') || 'not called'}`)
  }
  assert.deepEqual(without, [])
  assert.ok(walk.operations.size > 300)
})
