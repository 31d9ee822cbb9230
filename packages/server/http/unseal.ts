import type { IncomingMessage } from 'node:http'
import Type, { type Static } from 'typebox'
import { defineOperation, post } from '../operations/define.ts'
import type { Operation } from '../operations/types.ts'

const path = '/unseal'
const Share = Type.Object({
  share: Type.String({ maxLength: 512, description: 'One line that begins with warder-share-1.' }),
})
const Progress = Type.Object({
  sealed: Type.Boolean(),
  entered: Type.Optional(Type.Integer({ description: 'Shares that were entered.' })),
  threshold: Type.Optional(Type.Integer({ description: 'Shares that are needed.' })),
})
export type UnsealProgress = Static<typeof Progress>

/** Whether a request to a sealed service is one of `unsealOperation`. */
export function isUnsealRequest({ url, method }: IncomingMessage): boolean {
  return url?.split('?')[0] === path && method === 'POST'
}

/**
 * `POST /unseal` of a service that is not sealed, which ignores the share. A sealed service has no operations yet; its
 * main thread replies to this request (`root_key_source` shares).
 */
export function unsealOperation<Services>(): Operation<Services> {
  return defineOperation<Services>()({
    name: 'unseal',
    reach: ['reveal public'],
    route: post(path),
    summary: 'Enter one share of the root key of a sealed service',
    description:
      'Public, because a sealed service knows no users. A service that is not sealed replies `{"sealed": false}` and ignores the share.',
    tag: 'Diagnostics',
    access: { name: 'public', public: true },
    request: Share,
    reply: Progress,
    errors: {
      403: 'The share is of another set, or was changed or forged.',
      409: 'The share was entered before, or the shares do not open the root key and were discarded.',
    },
    audited: false,
    act: async () => ({ sealed: false }),
  })
}
