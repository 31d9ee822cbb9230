import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startIssuer } from '../../testing/issuer.ts'
import { testAuthority } from '../../testing/start.ts'
import { refreshMetadata } from './refresh.ts'
import { type SamlScene, startSaml } from './testing/saml-scene.ts'
import { type KeyPair, sharedKey, signMetadata } from './testing/test-idp.ts'

const slo =
  '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo"/>'

interface Published extends AsyncDisposable {
  readonly saml: SamlScene
  publish(body: string, status?: number): void
  save(members: Record<string, unknown>): Promise<void>
  refresh(): Promise<void>
  /** Logs in with a response that this key signed. */
  status(key: KeyPair): Promise<number>
}

/** Creates a realm whose metadata is published at a URL. */
async function start(): Promise<Published> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-refresh-'))
  const site = await startIssuer(await testAuthority(), folder)
  const saml = await startSaml({}, { outboundCa: site.caFile })
  return {
    saml,
    publish: (body, status = 200) => site.serve('/metadata', { body, status }),
    async save(members) {
      const saml_params = saml.params({ metadata_url: `${site.url}/metadata`, ...members })
      const body = {
        auth_params: { saml_params },
        session_max_age_seconds: 60,
        session_max_stale_age_seconds: 60,
      }
      const answer = await saml.scene.asSuper('PUT', '/admins/realms/r', body)
      assert.equal(answer.status, 200, answer.text)
    },
    refresh: () => refreshMetadata(saml.auth.environment),
    status: async (key) => (await saml.logIn({ signing: { key } })).status,
    async [Symbol.asyncDispose]() {
      await saml[Symbol.asyncDispose]()
      await site[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

describe('fetched metadata', () => {
  it('rotates the certificate of an identity provider without an outage', async () => {
    await using place = await start()
    const { saml, publish, refresh, status } = place
    await place.save({})
    const [old, next] = [saml.idp.key, await sharedKey('next')]
    assert.deepEqual([await status(old), await status(next)], [200, 401])
    publish(saml.idp.metadata({ certificates: [old.certificate, next.certificate], before: slo }))
    await refresh()
    assert.deepEqual([await status(old), await status(next)], [200, 200])
    const event = saml.auth.events.findLast(({ operation }) => operation === 'saml.metadata.refresh')
    assert.deepEqual([event?.realm, event?.outcome], ['r', 'success'])
    publish(saml.idp.metadata({ certificates: [next.certificate] }))
    await refresh()
    assert.deepEqual([await status(old), await status(next)], [401, 200])
    await refresh()
    const kept = (await saml.scene.asSuper('GET', '/admins/realms/r')).json.auth_params.saml_params
    assert.equal(kept.idp_slo_url, undefined, 'what is gone is gone')
    assert.equal(saml.auth.counted.get('auth_saml_metadata_refreshes_total{outcome="unchanged"}'), 1)
  })

  it('must be signed by a pinned certificate where the realm requires it', async () => {
    await using place = await start()
    const { saml, publish, refresh, status } = place
    const [federation, stranger, next] = [
      await sharedKey('federation'),
      await sharedKey('stranger'),
      await sharedKey('next'),
    ]
    await place.save({ metadata_certificates: [federation.certificate] })
    const newer = saml.idp.metadata({ certificates: [next.certificate], attributes: ' ID="_m"' })
    for (const body of [
      newer,
      signMetadata(newer, stranger),
      signMetadata(newer, federation).replace('/sso"', '/evil"'),
    ]) {
      publish(body)
      await refresh()
      assert.equal(await status(next), 401)
    }
    publish(signMetadata(newer, federation))
    await refresh()
    assert.equal(await status(next), 200)
  })

  it('changes nothing when it is unavailable, of another entity, or invalid', async () => {
    await using place = await start()
    const { saml, publish, refresh, status } = place
    await place.save({})
    const next = await sharedKey('next')
    const newer = saml.idp.metadata({ certificates: [next.certificate] })
    for (const [body, code] of [
      ['', 500],
      [newer, 404],
      ['<x/>', 200],
      [`<!DOCTYPE x>${newer.slice(39)}`, 200],
      [newer.replace(saml.idp.entityId, 'https://other.example'), 200],
      [saml.idp.metadata({ certificates: [] }), 200],
      [
        saml.idp.metadata({
          certificates: [next.certificate],
          attributes: ' validUntil="2020-01-01T00:00:00Z"',
        }),
        200,
      ],
      [newer + ' '.repeat(262_144), 200],
    ] as const) {
      publish(body, code)
      await refresh()
      assert.deepEqual([await status(saml.idp.key), await status(next)], [200, 401])
    }
    assert.equal(saml.auth.counted.get('auth_saml_metadata_refreshes_total{outcome="failed"}'), 8)
    assert.ok(saml.auth.logged.some((line) => line.includes('could not be refreshed')))
  })
})
