import { createHash } from 'node:crypto'
import { unixSeconds } from '@warder/base'
import { OutboundError } from '@warder/outbound'
import type { ServiceEnvironment } from '@warder/runtime'
import { GuardFailed } from '@warder/storage'
import { countSamlRefresh } from '../../counting.ts'
import type { Realm } from '../../realms/realm.ts'
import { listRealms, replaceRealm } from '../../realms/realm-store.ts'
import { idpFacts, readMetadata } from './metadata.ts'
import { type SamlSettings, samlSettings } from './settings.ts'
import { readPublicKeys, verifyEnveloped } from './signature.ts'
import { nameIdFormats, utf8 } from './xml.ts'
import { metadataBounds, XmlRefused } from './xml-gate.ts'

type Environment = Pick<
  ServiceEnvironment<unknown>,
  'db' | 'outbound' | 'clock' | 'log' | 'metrics' | 'audit'
>

const realmsAtOnce = 100
const maxMetadataBytes = 256 * 1024

/**
 * Fetches the metadata of every realm with a metadata URL and applies changes, so that new certificates of an
 * identity provider are known before it signs with them. A failure leaves the realm unchanged.
 */
export async function refreshMetadata(environment: Environment): Promise<void> {
  for (let after = ''; ; ) {
    const realms = await listRealms(environment.db, { after, limit: realmsAtOnce })
    for (const realm of realms) {
      const settings = samlSettings.of(realm)
      if (settings?.metadata_url !== undefined)
        await refreshRealm(environment, realm, settings, settings.metadata_url)
    }
    const last = realms.at(-1)
    if (last === undefined || realms.length < realmsAtOnce) return
    after = last.id
  }
}

async function refreshRealm(
  environment: Environment,
  realm: Realm,
  settings: SamlSettings,
  url: string,
): Promise<void> {
  const { db, log, metrics } = environment
  try {
    const next = newerSettings(
      settings,
      await fetchMetadata(environment, url),
      unixSeconds(environment.clock),
    )
    if (JSON.stringify(next) === JSON.stringify(settings)) {
      countSamlRefresh(metrics, 'unchanged')
      return
    }
    const after = { ...realm, auth_params: { ...realm.auth_params, saml_params: next } }
    await replaceRealm(db.commit, realm, after, [], { sessions: [], others: [] })
    countSamlRefresh(metrics, 'changed')
    record(environment, realm.id, settings, next)
  } catch (error) {
    // The realm was saved meanwhile: the next run uses the new state.
    if (error instanceof GuardFailed) return
    if (!(error instanceof XmlRefused || error instanceof OutboundError)) throw error
    countSamlRefresh(metrics, 'failed')
    log.warn(
      { realm: realm.id, detail: error.message },
      'the SAML metadata of a realm could not be refreshed',
    )
  }
}

async function fetchMetadata({ outbound }: Environment, url: string): Promise<string> {
  const { status, body } = await outbound.get(url)
  if (status !== 200) throw new XmlRefused(`the metadata URL responded with status ${status}`)
  if (body.length > maxMetadataBytes)
    throw new XmlRefused(`the metadata is larger than ${maxMetadataBytes} bytes`)
  return utf8(body)
}

/** @throws XmlRefused when the metadata is invalid or not signed as the realm requires */
function newerSettings(settings: SamlSettings, xml: string, now: number): SamlSettings {
  const document = readMetadata(xml)
  const { metadata_certificates: certificates } = settings
  const believed =
    certificates === undefined
      ? document
      : verifyEnveloped(document, document.root, readPublicKeys(certificates), metadataBounds)
  const facts = idpFacts(believed.root, now)
  if (facts.idp_entity_id !== settings.idp_entity_id)
    throw new XmlRefused('the metadata describes another entity')
  if (facts.idp_nameid_format === nameIdFormats.transient && settings.subject_attribute === undefined)
    throw new XmlRefused('the NameID of the IdP has become transient, and the realm has no subject_attribute')
  const { idp_nameid_format: _format, idp_slo_url: _slo, idp_slo_response_url: _response, ...rest } = settings
  return { ...rest, metadata_xml: xml, ...facts }
}

/** No request caused the change, so it has an audit record of its own. */
function record(
  { audit, clock }: Environment,
  realm: string,
  before: SamlSettings,
  after: SamlSettings,
): void {
  const certificates = ({ idp_signing_certificates }: SamlSettings): readonly string[] =>
    idp_signing_certificates.map((pem) => createHash('sha256').update(pem).digest('hex'))
  audit.record({
    time: clock.now(),
    request_id: 'metadata-refresh',
    operation: 'saml.metadata.refresh',
    principal: 'system',
    auth_method: 'none',
    realm,
    object: realm,
    client_ip: '',
    outcome: 'success',
    status: 200,
    duration_ms: 0,
    details: {
      before: { sso_url: before.idp_sso_url, certificates: certificates(before) },
      after: { sso_url: after.idp_sso_url, certificates: certificates(after) },
    },
  })
}
