import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure } from '@warder/base'
import { Enumeration, enumeration, structure, Tag, type TtlvNode, textString } from '@warder/kmip-codec'
import { checkCredentials as checkedFrom } from './credentials.ts'
import type { KmipServices } from './services.ts'

type Type = keyof typeof Enumeration.CredentialType

function credential(type: Type, ...value: readonly TtlvNode[]): TtlvNode {
  return structure(Tag.Credential, [
    enumeration(Tag.CredentialType, Enumeration.CredentialType[type]),
    structure(Tag.CredentialValue, value),
  ])
}

const password = (name: string, secret: string) =>
  credential('UsernameAndPassword', textString(Tag.Username, name), textString(Tag.Password, secret))
const authentication = (...credentials: readonly TtlvNode[]) => structure(Tag.Authentication, credentials)

const checkedCredentials = (given: KmipServices, asked: ReturnType<typeof authentication>) =>
  checkedFrom(given, asked, '192.0.2.7')

function services(more: Partial<KmipServices> = {}): KmipServices {
  const passwordLogin: KmipServices['passwordLogin'] = {
    user: (username) => ({ realm: 'office', username, name: username }),
    async check(_user, secret, _code, clientAddress) {
      assert.equal(clientAddress, '192.0.2.7')
      if (secret !== 'right' && secret !== 'expired') throw failure('unauthorized')
      const nextStep = secret === 'right' ? 'Authenticated' : 'ChangePassword'
      return { nextStep, subjectId: undefined, roleClaims: undefined }
    },
    withRoles: (principal) => principal,
  }
  const blocks: KmipServices['blocks'] = { require: (principal) => principal, isBlocked: async () => false }
  const names: KmipServices['names'] = { claim: async () => undefined }
  return {
    passwordLogin,
    names,
    blocks,
    forceDefaultUsername: false,
    defaultUsername: 'admin',
    ...more,
  } as KmipServices
}

const refuses = (given: KmipServices, asked: ReturnType<typeof authentication>) =>
  assert.rejects(checkedCredentials(given, asked), (error: Error) =>
    /^(Failure|KmipDecodeError)$/.test(error.name),
  )

test('a username and its password authenticate the user', async () => {
  const found = await checkedCredentials(services(), authentication(password('alice', 'right')))
  assert.deepEqual(found, { name: 'alice', method: 'kmip_credential', realm: 'office' })
})

test('with force_default_username the password must still be correct', async () => {
  const forced = services({ forceDefaultUsername: true })
  assert.equal((await checkedCredentials(forced, authentication(password('alice', 'right')))).name, 'admin')
  await refuses(forced, authentication(password('alice', 'wrong')))
})

test('equal credentials are verified once, and contradicting ones are refused without a verification', async () => {
  let logins = 0
  const counting = services()
  const login = counting.passwordLogin
  assert.ok(login)
  const counted = services({
    passwordLogin: {
      ...login,
      async check(...given) {
        logins++
        return login.check(...given)
      },
    },
  })
  const right = password('alice', 'right')
  assert.equal((await checkedCredentials(counted, authentication(...Array(8).fill(right)))).name, 'alice')
  assert.equal(logins, 1)
  await refuses(counted, authentication(right, password('alice', 'wrong')))
  await refuses(counted, authentication(right, password('bob', 'right')))
  await refuses(counted, authentication(right, credential('Device')))
  assert.equal(logins, 1)
})

test('credentials that are wrong, incomplete, of another type, of two users or not verifiable are refused', async () => {
  await refuses(services(), authentication(password('alice', 'wrong')))
  await refuses(services(), authentication(password('alice', 'expired')))
  await refuses(services(), authentication(password('*', 'right')))
  await refuses(services(), authentication(password('app:backup', 'right')))
  await refuses(services(), authentication())
  await refuses(services(), authentication(...Array(9).fill(password('alice', 'right'))))
  await refuses(services(), authentication(password('alice', 'right'), password('bob', 'right')))
  await refuses(services(), authentication(password('alice', 'right'), credential('Device')))
  await refuses(
    services(),
    authentication(credential('UsernameAndPassword', textString(Tag.Username, 'alice'))),
  )
  await refuses(services(), authentication(textString(Tag.Credential, 'alice')))
  await refuses(services({ passwordLogin: undefined }), authentication(password('alice', 'right')))
})
