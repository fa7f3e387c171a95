// The real Bluesky server with a directory of identities of its own, on this machine alone. It ends when its standard
// input does, so it cannot outlive whoever started it. Prints one line once it listens.
const { randomBytes } = require('node:crypto')
const net = require('node:net')

const [port, directory] = process.argv.slice(2)

const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (first, ...rest) {
  // Both servers would listen on every interface.
  const options = typeof first === 'object' && first !== null ? first : { port: first ?? 0 }
  return listen.call(this, { ...options, host: '127.0.0.1' }, ...rest)
}

async function main() {
  const { PlcServer, Database } = require('@did-plc/server')
  const { PDS, envToCfg, envToSecrets } = require('@atproto/pds')

  const plc = PlcServer.create({ db: Database.mock(), port: 0 })
  const plcPort = (await plc.start()).address().port
  const environment = {
    devMode: true,
    port: Number(port),
    hostname: 'localhost',
    didPlcUrl: `http://127.0.0.1:${plcPort}`,
    dataDirectory: directory,
    blobstoreDiskLocation: `${directory}/blobs`,
    serviceHandleDomains: ['.test'],
    inviteRequired: false,
    disableSsrfProtection: true,
    bskyAppViewUrl: 'http://127.0.0.1:1',
    bskyAppViewDid: 'did:example:nobody',
    crawlers: [],
    jwtSecret: randomBytes(16).toString('hex'),
    dpopSecret: randomBytes(32).toString('hex'),
    adminPassword: randomBytes(16).toString('hex'),
    plcRotationKeyK256PrivateKeyHex: randomBytes(32).toString('hex'),
  }
  const pds = await PDS.create(envToCfg(environment), envToSecrets(environment))
  await pds.start()
  process.stdin.resume().on('end', () => process.exit(0))
  process.stdout.write('ready\n')
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
