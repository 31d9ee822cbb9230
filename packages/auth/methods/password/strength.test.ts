import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scene } from '../../testing/scene.ts'
import { readCookie, startAuth } from '../../testing/start.ts'
import { checkStrength } from './password-rules.ts'

const user = { username: 'annabella', realm: 'warehouse' }

test('passwords that take few guesses are refused with advice; strong ones are accepted', async () => {
  for (const [password, why, better] of [
    ['aaaaaaaaaa', /repeated characters/, /add another word or two.*avoid repetitions/],
    ['abcabcabcabc', /repeated patterns/, /avoid repetitions/],
    ['abcdefghijkl', /sequences/, /avoid sequences/],
    ['19870321', /dates are easy to guess/, /avoid dates/],
    ['P4ssw0rd!!', /similar to a common password/, /digits and signs instead of letters/],
    ['drowssap1', /similar to a common password/, /reversed words/],
    ['annabella1', /username or the realm/, /add another word/],
    ['Warehouse7', /username or the realm/, /add another word/],
    ['a'.repeat(1024), /repeated characters/, /avoid repetitions/],
  ] as const) {
    await assert.rejects(checkStrength(password, user), (error: Error) => {
      assert.equal('kind' in error && error.kind, 'bad_request')
      assert.match(error.message, /^new_password: is easy to guess: .*\. To make it better: .*\.$/)
      assert.match(error.message, why)
      assert.match(error.message, better)
      assert.equal(error.message.includes(password), false)
      return true
    })
  }
  for (const password of [
    'only Ann knows it',
    'xkq!93vd',
    'correct horse',
    'sommer in lyon, regen',
    '𝒳𝒴𝒵 élan ñandú',
  ])
    await checkStrength(password, user)
})

test('the longest and most ambiguous passwords are checked quickly', async () => {
  for (const part of ['@4$5!1|0', '$', 'a1', '4@8(361!|10$57%2']) {
    const began = performance.now()
    await checkStrength(part.repeat(1024 / part.length), user).catch(() => undefined)
    assert.ok(performance.now() - began < 5000, part)
  }
})

test('advice is given only after the old password was proved; the old one stays until a new one is accepted', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { realm, user: add, as } = scene(auth)
  await realm('r')
  await add('r', 'ann')
  const change = (basic: string, new_password: string) =>
    auth.call('POST', '/password?realm=r', { basic, json: { new_password } })
  assert.equal((await change('ann:wrong', '19870321')).status, 401)
  const weak = await change('ann:correct horse', '19870321')
  assert.equal(weak.status, 400)
  assert.match(weak.json.description, /dates are easy to guess\. To make it better: /)
  assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })).status, 200)
  const isInitial = async (basic: string) => {
    const cookie = readCookie(await auth.call('POST', '/login?realm=r', { basic }))
    return (await as(cookie, 'GET', '/account')).json.password_initial
  }
  assert.equal(await isInitial('ann:correct horse'), true)
  assert.equal((await change('ann:correct horse', 'only Ann knows it')).status, 204)
  assert.equal(await isInitial('ann:only Ann knows it'), false)
})
