import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '@warder/base'
import { directoryAt } from './directory.ts'

const secret = Secret.fromText('the secret of the installation')

function asked(answer: { readonly status?: number; readonly body?: string } | 'no answer', only?: string) {
  const urls: string[] = []
  const outbound = {
    async get(url: string, options?: { readonly headers?: Readonly<Record<string, string>> }) {
      urls.push(url)
      assert.deepEqual(options?.headers, { 'x-warder-peer': 'the secret of the installation' })
      if (answer === 'no answer') throw new Error('refused')
      const { status = 200, body = '{"user":true,"machine":null}' } = answer
      return { status, headers: {}, body: Buffer.from(body) }
    },
    post: async () => assert.fail('nothing is posted'),
    delete: async () => assert.fail('nothing is deleted'),
  }
  return { urls, directory: directoryAt('https://auth.test/', only, outbound, secret) }
}

test('a name is asked for in its realm, whatever characters it has', async () => {
  for (const [name, only, query] of [
    ['alice', undefined, 'realm=_&username=alice&entity=alice'],
    ['eng/alice', undefined, 'realm=eng&username=alice&entity=eng%2Falice'],
    ['a&realm=x', undefined, 'realm=_&username=a%26realm%3Dx&entity=a%26realm%3Dx'],
    ['eng/alice', 'shop', 'realm=shop&username=eng%2Falice&entity=eng%2Falice'],
  ] as const) {
    const { urls, directory } = asked({}, only)
    assert.deepEqual(await directory.find(name), { user: true, machine: undefined })
    assert.deepEqual(urls, [`https://auth.test/known?${query}`])
  }
})

test('an answer that says nothing is no answer', async () => {
  for (const answer of [
    'no answer',
    { status: 401 },
    { status: 404 },
    { body: '<html>' },
    { body: 'null' },
    { body: '{"user":"yes"}' },
  ] as const)
    await assert.rejects(asked(answer).directory.find('alice'), { kind: 'overloaded' })
})
