import { algorithmFor, algorithmNames, decodeBase64Url, jwsSign } from '@warder/crypto'
import { afterCountingUse, keyRight, requireKeyUse } from '@warder/keys'
import { type Operation, post } from '@warder/server'
import Type, { type Static } from 'typebox'
import { getStructure } from './abe-structure.ts'
import { accessQueries, auditReading, healthDetails } from './access-queries.ts'
import { aliasOperations } from './aliases.ts'
import { awsAccessKeyOperations } from './aws-access-keys.ts'
import { batchOperation } from './batch.ts'
import { blockOperations } from './blocks.ts'
import { createKey } from './create-key.ts'
import { dataKey } from './data-key.ts'
import { decrypt } from './decrypt.ts'
import { deleteKey } from './delete-key.ts'
import { encrypt } from './encrypt.ts'
import { explainOperations } from './explain.ts'
import { checkStore } from './external-check.ts'
import { externalStoreOperations } from './external-stores.ts'
import { getKey } from './get-key.ts'
import { grantOperations } from './grants.ts'
import { groupOperations } from './groups.ts'
import { hsmOperations } from './hsm-keys.ts'
import { listKeys } from './inventory.ts'
import { jwks } from './jwks.ts'
import { setDates } from './key-dates.ts'
import { lifeOperations } from './key-life.ts'
import { rotationOperations } from './key-rotation.ts'
import { tagOperations } from './key-tags.ts'
import { keyUses } from './key-uses.ts'
import { versionOperations } from './key-versions.ts'
import { leaverOperations } from './leaver.ts'
import { mac } from './mac.ts'
import { reportOperations } from './report.ts'
import { rewrap } from './rewrap.ts'
import { rotateKey } from './rotate-key.ts'
import { define, type RestServices } from './services.ts'
import { systemOperations } from './system.ts'
import { transferOperations } from './transfer.ts'
import { uiOperations } from './ui-session.ts'
import { unwrapKey } from './unwrap-key.ts'
import { verify } from './verify.ts'

const SignRequest = Type.Object({
  kid: Type.String({ description: 'The private key.' }),
  alg: Type.String({ description: algorithmNames('signature').join(', ') }),
  data: Type.String({ description: 'Payload, base64url.' }),
})

const access = keyRight<RestServices, ReturnType<typeof read>>('sign', {
  read: (input, { services }) => read(input.body as Static<typeof SignRequest>, services),
  kid: ({ kid }) => kid,
  version: 'protect',
  algorithm: ({ alg }) => alg.name,
})

function read({ kid, alg, data }: Static<typeof SignRequest>, services: RestServices) {
  const algorithm = algorithmFor('signature', alg, services.policy)
  decodeBase64Url(data, 'data')
  return { kid, alg: { name: alg, algorithm }, data }
}

/** `POST /v1/crypto/sign`: a detached JWS whose header names the key that verifies it. */
const sign = define({
  name: 'crypto.sign',
  reach: ['make signature'],
  route: post('/v1/crypto/sign'),
  summary: 'Sign with a private key',
  tag: 'Crypto',
  access,
  request: SignRequest,
  reply: Type.Object({ protected: Type.String(), signature: Type.String() }),
  errors: {
    403: 'The caller has no right to sign with it.',
    404: 'No such key.',
    422: 'Wrong algorithm, key type or state.',
  },
  act(_input, context) {
    const { key, request } = access.resolved(context)
    requireKeyUse(key, 'sign', context).requireBoundTo(request.alg.name)
    const { id, linkedId } = key.object
    const signed = jwsSign(key.described, linkedId ?? id, request.alg, request.data)
    return afterCountingUse(context, key, Buffer.byteLength(request.data, 'base64url'), signed)
  },
})

/** Max bytes of bodies without caller data: a key with all of its members is much smaller than the service's limit. */
const bodyLimit = 256 * 1024

/** The operation for bodies without data of callers. */
export function withoutData<Services>(
  ...operations: readonly Operation<Services>[]
): readonly Operation<Services>[] {
  return operations.map((operation) => ({ bodyLimit, ...operation }))
}

/** Every operation of the REST API. */
export const restOperations: readonly Operation<RestServices>[] = [
  ...withoutData(
    ...systemOperations,
    jwks,
    listKeys,
    createKey,
    getKey,
    deleteKey,
    unwrapKey,
    rotateKey,
    getStructure,
  ),
  encrypt,
  decrypt,
  sign,
  verify,
  mac,
  rewrap,
  batchOperation({ encrypt, decrypt, sign, verify, mac, rewrap, datakey: dataKey }),
  ...withoutData(
    ...versionOperations,
    ...rotationOperations,
    dataKey,
    ...tagOperations,
    ...aliasOperations,
    ...hsmOperations,
    ...lifeOperations,
    setDates,
    keyUses,
    ...grantOperations,
    ...explainOperations,
    ...reportOperations,
    ...leaverOperations,
    ...groupOperations,
    ...blockOperations,
    ...transferOperations,
    ...accessQueries,
    ...auditReading,
    healthDetails,
    ...externalStoreOperations,
    checkStore,
    ...awsAccessKeyOperations,
    ...uiOperations,
  ),
]
