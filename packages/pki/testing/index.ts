/** Files that OpenSSL wrote and the program itself, certificates made for a test. */
export { issue, now, type Party, party, toIssuer, year } from './authorities.ts'
export { p256Request, pssRequest, sha1Request } from './certificate-requests.ts'
export { missingOpenssl, type OpensslFolder, type OpensslRun, opensslFolder, pem } from './openssl.ts'
export { legacyFile, modernFile } from './pkcs12-files.ts'
