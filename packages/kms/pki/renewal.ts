import { toStatus } from '@warder/authority'
import { failure } from '@warder/base'
import {
  asObjectId,
  findLinkTarget,
  type ManagedObject,
  renewalDueAt,
  renewalSettings,
  requireAllowed,
  requirePrincipal,
  UnitOfWork,
  verdictOn,
  withRenewal,
} from '@warder/keys'
import { get, type Operation, type OperationContext, put } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { certificateRight, type FoundCertificate } from './certificate-access.ts'
import { formatDate } from './members.ts'
import { define, type PkiServices } from './services.ts'

type Context = OperationContext<PkiServices>

const attempts = 10
const day = 86_400
const path = '/v1/pki/certificates/{id}/renewal'
const IdPath = Type.Object({ id: Type.String() })

const RenewalRequest = Type.Object({
  automatic: Type.Boolean({ description: 'Whether it is renewed automatically before it expires.' }),
  new_key: Type.Optional(
    Type.Boolean({
      description:
        'With a new key each time, which has to be one of here: the pair is renewed. Default: false.',
    }),
  ),
  interval_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 36_500,
      description: 'Days after its creation or last renewal. Default: two thirds of its validity.',
    }),
  ),
})

const RenewalReply = Type.Object({
  automatic: Type.Boolean(),
  new_key: Type.Boolean(),
  interval_days: Type.Optional(Type.Number()),
  due_at: Type.Optional(Type.String()),
})

/** A certificate whose renewal can be configured, with the private key of its pair. */
interface Renewable {
  readonly certificate: ManagedObject
  readonly key: ManagedObject | undefined
}

/** @throws Failure bad_request for a certificate that no local authority issued */
async function renewable(objects: UnitOfWork, { object, issued }: FoundCertificate): Promise<Renewable> {
  const certificate = object === undefined ? undefined : await objects.read(object.id)
  if (issued === undefined || certificate === undefined)
    throw failure('bad_request', 'This certificate was not issued by this service: renew it at its issuer.')
  const id = asObjectId(findLinkTarget(certificate, 'PrivateKeyLink') ?? '')
  const key = id === undefined ? undefined : await objects.read(id)
  return { certificate, key: key?.owner === certificate.owner ? key : undefined }
}

function formatReply({ certificate, key }: Renewable): Static<typeof RenewalReply> {
  const byKey = key !== undefined && renewalSettings(key).automatic
  const carrier = byKey ? key : certificate
  const { automatic, everySeconds } = renewalSettings(carrier)
  const due = automatic ? renewalDueAt(carrier, certificate) : undefined
  return {
    automatic,
    new_key: byKey,
    ...(everySeconds !== undefined && { interval_days: everySeconds / day }),
    ...(due !== undefined && { due_at: formatDate(due) }),
  }
}

const readAccess = certificateRight('getattributes')

const getRenewal = define({
  name: 'pki.certificates.renewal.get',
  reach: ['reveal attributes', 'reveal public'],
  route: get(path),
  summary: 'Get the automatic renewal of a certificate',
  tag: 'PKI',
  access: readAccess,
  pathParameters: IdPath,
  reply: RenewalReply,
  errors: { 403: 'The caller has no right to read it.', 404: 'No such certificate.' },
  async act(_input, context) {
    const { services } = context
    const objects = new UnitOfWork(services, services.clock.now())
    try {
      return formatReply(await renewable(objects, readAccess.resolved(context)))
    } finally {
      objects.clear()
    }
  },
})

const setAccess = certificateRight('setattribute', 'certificate')

/** `PUT /v1/pki/certificates/{id}/renewal`: replaces the whole setting. */
const setRenewal = define({
  name: 'pki.certificates.renewal.set',
  reach: ['change attributes', 'change versions'],
  route: put(path),
  summary: 'Set the automatic renewal of a certificate',
  description:
    'The same authority renews it in the name of the owner, who needs the right certify on it. new_key also requires the right setattribute on the private key.',
  tag: 'PKI',
  access: setAccess,
  pathParameters: IdPath,
  request: RenewalRequest,
  reply: RenewalReply,
  errors: {
    403: 'The caller has no right to set attributes.',
    404: 'No such certificate.',
    409: 'It is already revoked or replaced, or was changed concurrently.',
  },
  act({ body }, context) {
    context.audit({ details: body })
    return retryOnGuard(attempts, () => changeRenewal(context, setAccess.resolved(context), body))
  },
})

async function changeRenewal(context: Context, found: FoundCertificate, wish: Static<typeof RenewalRequest>) {
  const { services } = context
  const { automatic, new_key: newKey = false, interval_days: days } = wish
  const objects = new UnitOfWork(services, services.clock.now())
  try {
    const { certificate, key } = await renewable(objects, found)
    if (automatic && found.issued !== undefined && toStatus(found.issued) === 'revoked')
      throw failure('conflict', 'The certificate is revoked and cannot be renewed: issue another one.')
    if (automatic && findLinkTarget(certificate, 'ReplacementObjectLink') !== undefined)
      throw failure('conflict', 'The certificate was already replaced: use its replacement.')
    if (newKey && key?.type !== 'PrivateKey')
      throw failure('bad_request', 'The private key of the certificate is not in this service: omit new_key.')
    const set = (object: ManagedObject, on: boolean) => {
      const everySeconds = on && days !== undefined ? days * day : undefined
      objects.update(object, withRenewal(object, { automatic: on, everySeconds }))
    }
    const wasKeyRenewal = key !== undefined && renewalSettings(key).automatic
    if (key !== undefined && (newKey || wasKeyRenewal)) {
      requireAllowed(
        await verdictOn(services.db, services.roles, key, requirePrincipal(context), 'setattribute'),
      )
      set(key, automatic && newKey)
    }
    set(certificate, automatic && !newKey)
    await objects.commit(context.commit)
    return formatReply(await renewable(new UnitOfWork(services, services.clock.now()), found))
  } finally {
    objects.clear()
  }
}

export const renewalOperations: readonly Operation<PkiServices>[] = [getRenewal, setRenewal]
