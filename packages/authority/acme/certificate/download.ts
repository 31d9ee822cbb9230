import { X509Certificate } from 'node:crypto'
import { type Operation, type OperationContext, post } from '@warder/server'
import Type from 'typebox'
import { findAuthority } from '../../signing/authority.ts'
import { acmeProblem } from '../protocol/problem.ts'
import { type AcmeServices, define } from '../protocol/services.ts'
import { accountCaller, byAccount, requirePostAsGet } from '../request/caller.ts'
import type { AcmeEnvironment } from '../request/environment.ts'
import { resourceErrors, resourceReply, resourceRow, signedByAcme } from '../request/row.ts'
import { findCertificate } from '../stored/certificate-store.ts'
import { buildChains } from './chains.ts'

const row = (environment: AcmeEnvironment) =>
  ({
    ...resourceRow(environment),
    access: signedByAcme,
    errors: resourceErrors,
    replyContentType: 'application/pem-certificate-chain',
    authenticate: byAccount(environment),
  }) as const

/** `POST …/certificate/{certificate}` (RFC 8555 §7.4.2): the certificate and its chain in PEM, with links to other chains. */
export function certificateOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...row(environment),
    name: 'acme.certificate',
    route: post('/acme/{authority}/certificate/{certificate}'),
    summary: 'Download a certificate with its chain',
    pathParameters: Type.Object({ authority: Type.String(), certificate: Type.String() }),
    act: ({ path }, context) => download(environment, context, path.certificate, 0),
  })
}

/** `POST …/certificate/{certificate}/{chain}`: the same with another chain. */
export function alternateOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...row(environment),
    name: 'acme.certificate.alternate',
    route: post('/acme/{authority}/certificate/{certificate}/{chain}'),
    summary: 'Download a certificate with another chain',
    pathParameters: Type.Object({
      authority: Type.String(),
      certificate: Type.String(),
      chain: Type.String({ pattern: '^[1-9][0-9]?$' }),
    }),
    act: ({ path }, context) => download(environment, context, path.certificate, Number(path.chain)),
  })
}

async function download(
  environment: AcmeEnvironment,
  context: OperationContext<AcmeServices>,
  id: string,
  wanted: number,
) {
  const caller = accountCaller(context)
  requirePostAsGet(caller)
  const { account, urls, directory } = caller
  const { db } = context.services
  const certificate = await findCertificate(db, id, account.id)
  const authority = await findAuthority(db, directory.authorityId)
  const chains = authority === undefined ? [] : await buildChains(db, authority)
  const chain = chains[wanted]
  if (certificate === undefined || chain === undefined)
    throw acmeProblem('notFound', 'The account has no such certificate.')
  const url = urls.certificate(id)
  return resourceReply(environment, urls, {
    pem: [certificate.der, ...chain].map((der) => new X509Certificate(der).toString()).join(''),
    links: chains.flatMap((_chain, index) =>
      index === wanted ? [] : [['alternate', index === 0 ? url : `${url}/${index}`] as const],
    ),
  })
}
