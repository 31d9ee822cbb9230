import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { change, GuardFailed, migrate, query } from '@warder/storage'
import { authMigrations } from '../../migrations.ts'
import { ensureSubjectId, personKnownThrough, providerPersonsEnd } from '../../person-store.ts'
import { readCookie } from '../../testing/start.ts'
import { type SamlScene, startSaml } from './testing/saml-scene.ts'
import { sharedKey, TestIdp } from './testing/test-idp.ts'

const other = 'https://other.example/metadata'
const third = 'https://third.example/metadata'
const ended = query<[], { readonly kind: string; readonly username: string; readonly reason: string }>(
  'SELECT kind, username, reason FROM ended ORDER BY seq',
)

/** Configures the identity provider with this entity ID for the realm, or none. */
async function put(saml: SamlScene, entityId: string | undefined, members: Record<string, unknown> = {}) {
  const metadata_xml = saml.idp.metadata().replace(saml.idp.entityId, entityId ?? '')
  const saml_params = entityId === undefined ? null : saml.params({ metadata_xml, ...members })
  const ages = { session_max_age_seconds: 900, session_max_stale_age_seconds: 900 }
  const auth_params = {
    saml_params,
    username_password_params: { allow_expired_passwords: false },
  }
  return saml.scene.asSuper('PUT', '/admins/realms/r', { auth_params, ...ages })
}

/** Logs in at the identity provider with this entity ID. @returns the user of the session */
async function logIn(saml: SamlScene, nameId: string, entityId = saml.idp.entityId) {
  const { acsUrl, spEntityId } = saml.idp
  const idp = new TestIdp({ key: await sharedKey('idp'), entityId, acsUrl, spEntityId })
  const login = await saml.begin()
  const attributes = { uid: [nameId] }
  const response = idp.response({ requestId: login.requestId, now: saml.now(), nameId, attributes })
  const cookie = readCookie(await saml.post(login, response))
  const answer = await saml.auth.call('GET', '/whoami', { cookie })
  return { cookie, person: answer.json.as_sid as string }
}

const live = async (saml: SamlScene, cookie: string) =>
  (await saml.auth.call('GET', '/whoami', { cookie })).status

describe('an identity provider that replaces another one', () => {
  it('removes the users of the old one: users with the same names are other persons', async () => {
    await using saml = await startSaml()
    const [ann, bob] = [await logIn(saml, 'ann'), await logIn(saml, 'bob')]
    assert.equal((await put(saml, saml.idp.entityId, { role_attribute: 'groups' })).status, 200)
    assert.equal((await logIn(saml, 'ann')).person, ann.person, 'other settings remove no user')
    await saml.scene.user('r', 'bob')
    assert.equal((await put(saml, other)).status, 200)
    assert.deepEqual([await live(saml, ann.cookie), await live(saml, bob.cookie)], [401, 401])
    const persons = (await saml.auth.db.all(ended, [])).filter(({ kind }) => kind === 'person')
    assert.deepEqual(
      persons.map(({ username, reason }) => [username, reason]),
      [['ann', 'provider_removed']],
      'subscribers are notified; users with a password keep the name',
    )
    assert.notEqual((await logIn(saml, 'ann', other)).person, ann.person)
    assert.equal((await logIn(saml, 'bob', other)).person, bob.person)
  })

  it('removes them also when the realm had none in between, and when names come from another attribute', async () => {
    await using saml = await startSaml()
    const first = await logIn(saml, 'ann')
    assert.equal((await put(saml, undefined)).status, 200)
    assert.equal((await put(saml, saml.idp.entityId)).status, 200)
    const second = await logIn(saml, 'ann')
    assert.notEqual(second.person, first.person)
    assert.equal((await put(saml, saml.idp.entityId, { subject_attribute: 'uid' })).status, 200)
    assert.equal(await live(saml, second.cookie), 401)
    assert.notEqual((await logIn(saml, 'ann')).person, second.person)
  })

  it('keeps the users where the realm declares them the same, which does not extend to the next one', async () => {
    await using saml = await startSaml()
    const [ann, bob] = [await logIn(saml, 'ann'), await logIn(saml, 'bob')]
    const changed = await put(saml, other, { predecessor_entity_ids: [saml.idp.entityId] })
    assert.deepEqual(changed.json.auth_params.saml_params.predecessor_entity_ids, [saml.idp.entityId])
    assert.equal(await live(saml, ann.cookie), 401, 'sessions of the other one end')
    assert.equal((await logIn(saml, 'ann', other)).person, ann.person)
    assert.equal((await put(saml, third, { predecessor_entity_ids: [saml.idp.entityId] })).status, 200)
    assert.notEqual((await logIn(saml, 'ann', third)).person, ann.person)
    assert.notEqual((await logIn(saml, 'bob', third)).person, bob.person, 'who never logged in at the second')
  })

  it('is refused while Admins name users of the old one, and changes nothing', async () => {
    await using saml = await startSaml()
    const ann = await logIn(saml, 'ann')
    const admin = { id: 'staff', realms: ['r'], saml: 'ann' }
    assert.equal((await saml.scene.asSuper('POST', '/admins', admin)).status, 201)
    for (const entityId of [other, undefined]) {
      const refused = await put(saml, entityId)
      assert.equal(refused.status, 409, refused.text)
      assert.match(refused.json.description, /saml of staff/)
    }
    assert.equal(await live(saml, ann.cookie), 200)
    const predecessor_entity_ids = [saml.idp.entityId]
    assert.equal((await put(saml, other, { predecessor_entity_ids })).status, 200)
  })

  it('refuses users who were removed during their login', async () => {
    await using saml = await startSaml()
    const { db } = saml.auth
    const subjectId = await ensureSubjectId(db, 'r', 'ann', saml.now())
    const person = { realm: 'r', username: 'ann', subjectId }
    await db.commit([personKnownThrough(person, saml.idp.entityId)])
    await db.commit(providerPersonsEnd(db, 'r', saml.idp.entityId, saml.now()))
    await assert.rejects(async () => db.commit([personKnownThrough(person, saml.idp.entityId)]), GuardFailed)
  })
})

describe('users from before providers were recorded', () => {
  it('belong to the current provider of the realm, unless they are registered', async () => {
    await using saml = await startSaml()
    const { db } = saml.auth
    const [ann, bob] = [await logIn(saml, 'ann'), await logIn(saml, 'bob')]
    await saml.scene.user('r', 'bob')
    // The database as version 7 left it.
    await db.commit([
      change(query('ALTER TABLE person DROP COLUMN provider'), []),
      change(query("DELETE FROM schema_migration WHERE component = 'auth' AND number >= 8"), []),
    ])
    // Later tables already exist.
    await migrate(
      db,
      'auth',
      authMigrations.filter(({ number }) => number <= 8),
    )
    const providers = query<[], object>(
      "SELECT username, provider FROM person WHERE realm_id = 'r' ORDER BY username",
    )
    assert.deepEqual(
      (await db.all(providers, [])).map((row) => ({ ...row })),
      [
        { username: 'ann', provider: '' },
        { username: 'bob', provider: null },
      ],
    )
    assert.equal((await put(saml, other)).status, 200)
    assert.notEqual((await logIn(saml, 'ann', other)).person, ann.person)
    assert.equal((await logIn(saml, 'bob', other)).person, bob.person)
  })
})
